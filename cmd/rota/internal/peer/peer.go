package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/trust"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// Authority returns the file with the authority of the cluster.
func Authority(t config.ServerTLS) *trust.File {
	return trust.NewFile("http.tls.client_ca", t.ClientCA)
}

// Transport returns the scheme and the transport for requests to other processes. They use TLS if this process does. The
// transport presents this process's certificate. It trusts the authorities of the system and the authority of client certificates.
// It reads the files of both again for each connection. If a file is not whole, it uses what it read last. If TLS is optional, it
// also reaches processes that have none. The caller closes its idle connections.
func Transport(t config.ServerTLS) (scheme string, transport *http.Transport, err error) {
	transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		TLSHandshakeTimeout: 3 * time.Second,
		IdleConnTimeout:     10 * time.Second,
	}
	if t.Cert == "" {
		return "http://", transport, nil
	}
	own := NewPair(t.Cert, t.Key)
	transport.TLSClientConfig = &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.Read() },
	}
	if t.ClientCA != "" {
		ca := Authority(t)
		if _, err := ca.Read(); err != nil {
			return "", nil, err
		}
		transport.DialTLSContext = dialProcess(transport, ca)
	}
	if t.Optional {
		transport.DialTLSContext = orPlain(transport)
	}
	return "https://", transport, nil
}

// dialProcess returns a function that connects to another process. The certificate of that process must have the name at which
// the process is called, or be that of a replica or worker by the authority of the cluster. Pods have addresses that no
// certificate can list beforehand.
func dialProcess(t *http.Transport, ca *trust.File) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		of, err := ca.Read()
		if err != nil {
			return nil, err
		}
		cfg := t.TLSClientConfig.Clone()
		cfg.ServerName = host
		cfg.InsecureSkipVerify = true // VerifyConnection checks the certificate
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return verify(s.PeerCertificates, host, of.Extended, of.Own) }
		return handshake(ctx, t, network, addr, cfg)
	}
}

// verify checks the certificates that the process at host shows.
func verify(shown []*x509.Certificate, host string, trusted, cluster *x509.CertPool) error {
	if len(shown) == 0 {
		return errors.New("the other process has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	_, err := shown[0].Verify(x509.VerifyOptions{Roots: trusted, Intermediates: between, DNSName: host})
	if err == nil || !ofCluster(shown[0]) {
		return err
	}
	_, err = shown[0].Verify(x509.VerifyOptions{Roots: cluster, Intermediates: between})
	return err
}

// ofCluster reports whether a certificate names a replica or a worker.
func ofCluster(cert *x509.Certificate) bool {
	return slices.ContainsFunc(cert.URIs, func(u *url.URL) bool {
		id, err := auth.ParseCertificateID(u)
		return err == nil && id.Identity().Peer()
	})
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
