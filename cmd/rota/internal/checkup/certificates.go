package checkup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/trust"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
)

const handshakeTimeout = 1500 * time.Millisecond

// servesTLS returns the certificate that the server at addr, host:port, shows; false if it does not use TLS or does not answer.
// own is what this process shows, because servers log clients that show nothing. The certificate is only looked at: nobody is
// trusted because of it.
func servesTLS(ctx context.Context, addr string, own []tls.Certificate) (*x509.Certificate, bool) {
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

// served returns the certificates that the servers at the URLs show. own is as in servesTLS.
func served(ctx context.Context, urls []string, own []tls.Certificate) (list []doctor.Served) {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" {
			continue
		}
		if cert, ok := servesTLS(ctx, hostPort(u), own); ok {
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

// broken returns the files of settings with which a process would not start. A running process goes on with what it read last, so
// nothing else names them before its next start. It leaves out files that this user may not read.
func broken(s *config.Settings) (list []doctor.Broken) {
	e, oidc := s.Etcd, s.Auth.OIDC
	add := func(path string, err error) {
		named := slices.ContainsFunc(list, func(b doctor.Broken) bool { return b.Path == path })
		if err != nil && !named && !errors.Is(err, fs.ErrPermission) {
			list = append(list, doctor.Broken{Path: path, Err: err})
		}
	}
	for _, pair := range [][2]string{
		{s.HTTP.TLS.Cert, s.HTTP.TLS.Key}, {e.TLS.Cert, e.TLS.Key}, {e.Embedded.TLS.Cert, e.Embedded.TLS.Key},
	} {
		if pair[0] != "" {
			_, err := tls.LoadX509KeyPair(pair[0], pair[1])
			add(pair[0], err)
		}
	}
	for _, ca := range [][2]string{
		{"http.tls.client_ca", s.HTTP.TLS.ClientCA}, {"etcd.tls.ca", e.TLS.CA}, {"etcd.embedded.tls.ca", e.Embedded.TLS.CA},
		{"auth.oidc.ca", oidc.CA},
	} {
		if ca[1] != "" {
			add(ca[1], trust.NewFile(ca[0], ca[1]).Check())
		}
	}
	return list
}

// certificates returns the certificates in the files that settings name.
func certificates(s *config.Settings) (list []doctor.Served) {
	e, seen := s.Etcd, map[string]bool{"": true} // several settings may name one file
	for _, path := range []string{
		s.HTTP.TLS.Cert, s.HTTP.TLS.ClientCA, e.TLS.Cert, e.TLS.CA, e.Embedded.TLS.Cert, e.Embedded.TLS.CA,
	} {
		text, err := os.ReadFile(path)
		if seen[path] || err != nil {
			continue // broken names it
		}
		seen[path] = true
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				list = append(list, doctor.Served{Where: path, Cert: cert})
			}
		}
	}
	return list
}
