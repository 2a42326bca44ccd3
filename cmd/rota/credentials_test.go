package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// certificate creates a self-signed certificate of loopback, for servers and clients.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestReplicasThatRequireCertificates(t *testing.T) {
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(pair.Leaf)
	answers := http.NewServeMux()
	answers.Handle("/", api.New(api.DefaultConfig(), newFakeCluster().backend(), hclog.NewNullLogger()).Handler())
	answers.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s := httptest.NewUnstartedServer(answers)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)

	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"a command shows its certificate", []string{"jobs", "--cacert", cert, "--cert", cert, "--cert-key", key}, exitOK, ""},
		{"so does one with an idempotency key", []string{"run", "ok", "--key", "k", "--cacert", cert, "--cert", cert, "--cert-key", key}, exitOK, ""},
		{"so does the health check", []string{"health", "--cacert", cert, "--cert", cert, "--cert-key", key}, exitOK, ""},
		{"without one nobody is let in", []string{"jobs", "--cacert", cert}, exitUnavailable, "certificate required"},
		{"its hint names the flags", []string{"jobs", "--cacert", cert}, exitUnavailable, "accepts with --cert and --cert-key"},
		{"so does that for an unknown authority", []string{"jobs", "--cert", cert, "--cert-key", key}, exitUnavailable, "with --cacert"},
		{"an authority that nobody named is not trusted", []string{"health", "--cert", cert, "--cert-key", key}, exitFailed, "unknown authority"},
		{"a missing authority", []string{"jobs", "--cacert", missing}, exitBadConfig, missing},
		{"a missing certificate", []string{"health", "--cert", missing, "--cert-key", key}, exitBadConfig, missing},
		{"a file without a certificate", []string{"health", "--cacert", key}, exitBadConfig, key},
		{"a key that is of another kind", []string{"jobs", "--cert", cert, "--cert-key", cert}, exitBadConfig, cert},
		{"a certificate without a key", []string{"jobs", "--cert", cert}, exitUsage, "needs its key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run(t.Context(), append(tt.args, "--server", s.URL), strings.NewReader(""), io.Discard, &stderr)
			if code != tt.code || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("got exit code %d and %q, want %d and %q in it", code, &stderr, tt.code, tt.stderr)
			}
		})
	}
	t.Run("variables replace the flags", func(t *testing.T) {
		t.Setenv("ROTA_CACERT", cert)
		t.Setenv("ROTA_CERT", cert)
		t.Setenv("ROTA_CERT_KEY", key)
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{"jobs", "--server", s.URL}, strings.NewReader(""), io.Discard, &stderr); code != exitOK {
			t.Errorf("got exit code %d: %s", code, &stderr)
		}
	})
}
