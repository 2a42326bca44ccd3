package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// credentials returns whom the commands take for a cluster, and who they are to it. nil: the system's authorities, and
// no certificate of ours.
func (c *cli) credentials() (*tls.Config, error) {
	ca := cmp.Or(c.cacert, c.getenv("ROTA_CACERT"))
	cert, key := cmp.Or(c.cert, c.getenv("ROTA_CERT")), cmp.Or(c.certKey, c.getenv("ROTA_CERT_KEY"))
	if (cert == "") != (key == "") {
		return nil, usageError{"a client's certificate and its key go together", "name both, with --cert and --cert-key or ROTA_CERT and ROTA_CERT_KEY"}
	}
	if ca == "" && cert == "" {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, &codedError{exitBadConfig, "", fmt.Errorf("read --cacert: %w", err)}
		}
		if t.RootCAs, err = x509.SystemCertPool(); err != nil {
			t.RootCAs = x509.NewCertPool()
		}
		if !t.RootCAs.AppendCertsFromPEM(text) {
			return nil, &codedError{exitBadConfig, "it is a PEM file", fmt.Errorf("read --cacert %s: no certificate in it", ca)}
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &codedError{exitBadConfig, "", fmt.Errorf("read --cert %s and --cert-key %s: %w", cert, key, err)}
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}
