package peer

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// Authority reads the authorities in the file of http.tls.client_ca. It also returns the text of the file. It returns an error if
// the file has no certificate, as while the file is being written.
func Authority(file string) (pool *x509.CertPool, text []byte, err error) {
	if text, err = os.ReadFile(file); err != nil {
		return nil, nil, fmt.Errorf("read http.tls.client_ca: %w", err)
	}
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, nil, fmt.Errorf("read http.tls.client_ca %s: no certificate in it", file)
	}
	return pool, text, nil
}

// authorities are those that sign the certificates of other processes. It is safe for concurrent use.
type authorities struct {
	file string
	last atomic.Pointer[pools] // nil: read has not succeeded yet
}

type pools struct {
	trusted *x509.CertPool // the authorities of the system, and those of the cluster
	cluster *x509.CertPool
}

// read reads the file. If that fails, it returns the last authorities that it read, as Pair.Read does. It returns an error if there
// are none.
func (a *authorities) read() (*pools, error) {
	cluster, text, err := Authority(a.file)
	if err != nil {
		if last := a.last.Load(); last != nil {
			return last, nil
		}
		return nil, err
	}
	p := &pools{cluster: cluster}
	if p.trusted, err = x509.SystemCertPool(); err != nil {
		p.trusted = x509.NewCertPool()
	}
	p.trusted.AppendCertsFromPEM(text)
	a.last.Store(p)
	return p, nil
}
