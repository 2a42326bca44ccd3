package peer

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"os"
	"sync/atomic"
)

// Pair is a certificate and its key in two files. It is safe for concurrent use.
type Pair struct {
	cert, key string
	last      atomic.Pointer[readPair] // nil: Read has not succeeded yet
}

// readPair is the content of the files, as text and parsed.
type readPair struct {
	cert, key []byte
	pair      tls.Certificate
}

// NewPair returns the pair in two PEM files.
func NewPair(cert, key string) *Pair { return &Pair{cert: cert, key: key} }

// Read reads the files. If that fails, it returns the last certificate that it read: while one of the files is replaced after the
// other, they do not fit together. It returns an error if there is none. It parses only files that have changed, because each
// handshake reads them.
func (p *Pair) Read() (*tls.Certificate, error) {
	cert, certErr := os.ReadFile(p.cert)
	key, keyErr := os.ReadFile(p.key)
	err := cmp.Or(certErr, keyErr)
	last := p.last.Load()
	if err == nil && (last == nil || !bytes.Equal(cert, last.cert) || !bytes.Equal(key, last.key)) {
		now := &readPair{cert: cert, key: key}
		if now.pair, err = tls.X509KeyPair(cert, key); err == nil {
			p.last.Store(now)
			return &now.pair, nil
		}
	}
	if last == nil {
		return nil, err
	}
	return &last.pair, nil
}
