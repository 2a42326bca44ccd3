package peer

import (
	"crypto/tls"
	"sync/atomic"
)

// Pair is a certificate and its key in two files. It is safe for concurrent use.
type Pair struct {
	cert, key string
	last      atomic.Pointer[tls.Certificate] // nil: Read has not succeeded yet
}

// NewPair returns the pair in two PEM files.
func NewPair(cert, key string) *Pair { return &Pair{cert: cert, key: key} }

// Read reads the files. If that fails, it returns the last certificate that it read: while one of the files is replaced after the
// other, they do not fit together. It returns an error if there is none.
func (p *Pair) Read() (*tls.Certificate, error) {
	read, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err == nil {
		p.last.Store(&read)
		return &read, nil
	}
	if last := p.last.Load(); last != nil {
		return last, nil
	}
	return nil, err
}
