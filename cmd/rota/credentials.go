package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// credentials returns a TLS configuration. It has the authorities that the commands trust, and the certificate that they present
// to replicas. nil means the authorities of the system and no certificate.
func (c *cli) credentials() (*tls.Config, error) {
	ca := cmp.Or(c.cacert, c.getenv("ROTA_CACERT"))
	cert, key := cmp.Or(c.cert, c.getenv("ROTA_CERT")), cmp.Or(c.certKey, c.getenv("ROTA_CERT_KEY"))
	if (cert == "") != (key == "") {
		hint := "name both, with --cert and --cert-key or ROTA_CERT and ROTA_CERT_KEY"
		return nil, usageError{"a client certificate needs its key", hint}
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
			err = fmt.Errorf("read --cacert %s: no certificate in it", ca)
			return nil, &codedError{exitBadConfig, "name a PEM file with certificates", err}
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
