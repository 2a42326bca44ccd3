package node

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
)

// brokenFor is how long the last authorities of clients count while their file has none.
const brokenFor = time.Minute

// serverTLS returns the TLS configuration of the API; nil for plain HTTP. The certificate and the authority of clients are read
// for each connection. So a renewed certificate is used at once, and a client whose authority was removed is refused at its next
// connection. If a file is not whole, what was read last counts; authorities of clients only if that is not long ago.
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
	ca := peer.Authority(t)
	if _, err := ca.Read(); err != nil {
		return nil, failure.Config(err)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		of, err := ca.ReadSince(time.Now().Add(-brokenFor))
		if err != nil {
			return nil, err
		}
		current := c.Clone()
		current.ClientCAs, current.GetConfigForClient = of.Own, nil
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
