package checkup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
)

const handshakeTimeout = 1500 * time.Millisecond

// ServesTLS returns the certificate that the server at addr, host:port, shows; false if it does not use TLS or does not answer.
// own is what this process shows, because servers log clients that show nothing. The certificate is only looked at: nobody is
// trusted because of it.
func ServesTLS(ctx context.Context, addr string, own []tls.Certificate) (*x509.Certificate, bool) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	var shown *x509.Certificate
	d := tls.Dialer{Config: &tls.Config{
		Certificates:       own,
		InsecureSkipVerify: true, //nolint:gosec // nothing is sent, and the certificate is only looked at
		VerifyConnection: func(s tls.ConnectionState) error {
			shown = s.PeerCertificates[0]
			return nil
		},
	}}
	if conn, err := d.DialContext(ctx, "tcp", addr); err == nil {
		_ = conn.Close()
	}
	return shown, shown != nil
}

// Served returns the certificates that the servers at the URLs show. own is as in ServesTLS.
func Served(ctx context.Context, urls []string, own []tls.Certificate) (list []doctor.Served) {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" {
			continue
		}
		if cert, ok := ServesTLS(ctx, hostPort(u), own); ok {
			list = append(list, doctor.Served{Where: text, Cert: cert})
		}
	}
	return list
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), "443")
}

// Files returns the certificates in the files that settings name.
func Files(s *config.Settings) (list []doctor.Served) {
	e := s.Etcd
	for _, path := range []string{
		s.HTTP.TLS.Cert, s.HTTP.TLS.ClientCA, e.TLS.Cert, e.TLS.CA, e.Embedded.TLS.Cert, e.Embedded.TLS.CA,
	} {
		text, err := os.ReadFile(path)
		if path == "" || err != nil {
			continue // a replica that cannot read its certificate does not start, and says so
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				list = append(list, doctor.Served{Where: path, Cert: cert})
			}
		}
	}
	return list
}
