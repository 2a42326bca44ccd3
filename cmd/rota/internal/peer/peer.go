package peer

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// Transport returns the scheme and the transport for requests to other processes. They use TLS if this process does. The
// transport presents this process's certificate, which it reads again for each connection. It trusts the authorities of the
// system and the authority of client certificates. The caller closes its idle connections.
func Transport(t config.ServerTLS) (scheme string, transport *http.Transport, err error) {
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

// Dial returns a client of the API at addr. Every request names the process that should answer, and that process does not forward
// the request. The name is necessary, because a loopback address leads each process to itself. An empty name stands for any
// process. timeout bounds each call; 0 means the client's default. The caller closes the client.
func Dial(t config.ServerTLS, addr, name string, timeout time.Duration) (*client.Client, error) {
	scheme, transport, err := Transport(t)
	if err != nil {
		return nil, err
	}
	cfg := client.Config{Servers: scheme + addr, Transport: transport, Timeout: timeout}
	if name != "" {
		cfg.Transport = addressed{transport, name}
	}
	return client.New(cfg)
}

// addressed adds to each request the name of the process that should answer.
type addressed struct {
	*http.Transport
	name string
}

func (a addressed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(api.NodeHeader, a.name)
	if proof := api.Proof(r.Context()); proof != "" { // the other process checks the rights of the client
		r.Header.Set("Authorization", proof)
	}
	return a.Transport.RoundTrip(r)
}
