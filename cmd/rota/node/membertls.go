package node

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/store/embedded"
)

// processHost is a host in the certificates that rota pki issues to replicas and workers. Those of users name no host.
const processHost = "localhost"

// memberTLS returns the TLS of the embedded etcd. Every client of etcd is admin. If the authority of etcd also signs certificates
// of the API's clients, etcd accepts only those of replicas and workers.
func memberTLS(e config.ClientTLS, clients string) (embedded.TLS, error) {
	t := embedded.TLS{Cert: e.Cert, Key: e.Key, CA: e.CA}
	shared, err := shareAuthority(e.CA, clients)
	if err != nil || !shared {
		return t, err
	}
	pair, err := tls.LoadX509KeyPair(e.Cert, e.Key)
	if err != nil {
		return t, failure.Config(fmt.Errorf("read etcd.embedded.tls.cert %s and etcd.embedded.tls.key %s: %w", e.Cert, e.Key, err))
	}
	ofProcess := func(u *url.URL) bool {
		id, err := auth.ParseCertificateID(u)
		return err == nil && id.Identity().Peer()
	}
	if pair.Leaf.VerifyHostname(processHost) != nil || !slices.ContainsFunc(pair.Leaf.URIs, ofProcess) {
		return t, failure.Config(errors.New("etcd.embedded.tls.ca and http.tls.client_ca share an authority, so the certificate of " +
			"any user would open etcd: give etcd an authority of its own, or use certificates of rota pki"))
	}
	t.Names = []string{processHost}
	return t, nil
}

// shareAuthority reports whether two files of authorities have a certificate in common. Either may be "".
func shareAuthority(a, b string) (bool, error) {
	if a == "" || b == "" {
		return false, nil
	}
	first, err := authorities(a)
	if err != nil {
		return false, err
	}
	second, err := authorities(b)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(first, func(c *x509.Certificate) bool {
		return slices.ContainsFunc(second, func(d *x509.Certificate) bool {
			return bytes.Equal(c.RawSubjectPublicKeyInfo, d.RawSubjectPublicKeyInfo)
		})
	}), nil
}

// authorities reads the certificates of a PEM file.
func authorities(file string) (list []*x509.Certificate, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.Config(fmt.Errorf("read authority: %w", err))
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, failure.Config(fmt.Errorf("read authority %s: %w", file, err))
		}
		list = append(list, c)
	}
	return list, nil
}
