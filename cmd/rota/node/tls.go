package node

import (
	"crypto/tls"
	"fmt"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
)

// serverTLS returns the TLS configuration of the API; nil for plain HTTP. The certificate and the authority of clients are read
// for each connection. So a renewed certificate is used at once, and a client whose authority was removed is refused at once.
func serverTLS(t config.ServerTLS) (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	own := peer.NewPair(t.Cert, t.Key)
	if _, err := own.Read(); err != nil {
		return nil, failure.Config(fmt.Errorf("read http.tls.cert %s and http.tls.key %s: %w", t.Cert, t.Key, err))
	}
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.Read() },
	}
	if t.ClientCA == "" {
		return c, nil
	}
	if _, _, err := peer.Authority(t.ClientCA); err != nil {
		return nil, failure.Config(err)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, _, err := peer.Authority(t.ClientCA)
		if err != nil {
			return nil, err // refuse all clients if the authority cannot be read
		}
		current := c.Clone()
		current.ClientCAs, current.GetConfigForClient = pool, nil
		current.SessionTicketsDisabled = true // the server would not verify the client again in a resumed session
		return current, nil
	}
	return c, nil
}

// optionalTLS returns the settings that let this process accept connections without TLS beside those with it.
func (n *Node) optionalTLS() (list []string) {
	if n.set.HTTP.TLS.Optional {
		list = append(list, "http.tls.optional")
	}
	if n.set.Etcd.Embedded.TLSOptional && len(n.set.Etcd.Endpoints) == 0 {
		list = append(list, "etcd.embedded.tls.optional")
	}
	return list
}
