package node

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rota-scheduler/rota/config"
)

// serverTLS is how the API speaks TLS; nil for plain HTTP. The certificate is read anew for each connection, so that one
// that was renewed is taken up.
func serverTLS(t config.ServerTLS) (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	if _, err := tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
		return nil, badConfig(fmt.Errorf("read http.tls: %w", err))
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
			return &cert, err
		},
	}
	if t.ClientCA != "" {
		pool, err := authority(t.ClientCA)
		if err != nil {
			return nil, err
		}
		c.ClientCAs, c.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return c, nil
}

func authority(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, badConfig(fmt.Errorf("read http.tls.client_ca: %w", err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, badConfig(fmt.Errorf("read http.tls.client_ca %s: no certificate in it", file))
	}
	return pool, nil
}

// peers is how to ask the API of other nodes, which speak TLS if this one does: the beginning of their URLs, and a transport
// with our certificate, read anew for each connection, that trusts the system's authorities and that of the clients.
func peers(t config.ServerTLS) (scheme string, transport *http.Transport, err error) {
	transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		TLSHandshakeTimeout: 3 * time.Second,
		IdleConnTimeout:     10 * time.Second,
	}
	if t.Cert == "" {
		return "http://", transport, nil
	}
	transport.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
			return &cert, err
		},
	}
	if t.ClientCA != "" {
		own, err := os.ReadFile(t.ClientCA)
		if err != nil {
			return "", nil, fmt.Errorf("read http.tls.client_ca: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pool.AppendCertsFromPEM(own)
		transport.TLSClientConfig.RootCAs = pool
	}
	return "https://", transport, nil
}
