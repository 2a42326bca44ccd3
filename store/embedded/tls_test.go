package embedded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// selfSigned writes a certificate for 127.0.0.1 that is its own CA.
func selfSigned(t *testing.T) TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := write("cert.pem", "CERTIFICATE", cert)
	return TLS{Cert: c, Key: write("key.pem", "EC PRIVATE KEY", keyDER), CA: c}
}

func TestTLSRequiresACertificateAndClosesQuickly(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	cfg.Client, cfg.ClientTLS = "https://127.0.0.1:0", selfSigned(t)
	s := start(t, cfg)

	pair, err := tls.LoadX509KeyPair(cfg.ClientTLS.Cert, cfg.ClientTLS.Key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(cfg.ClientTLS.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	dialTLS := func(certs ...tls.Certificate) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop(),
			TLS: &tls.Config{RootCAs: roots, Certificates: certs}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	if _, err := dialTLS().Put(withTimeout(t, time.Second), "k", "v"); err == nil {
		t.Error("a client without certificate was served")
	}
	known := dialTLS(pair)
	put(t, known, "k", "v")
	<-known.Watch(withTimeout(t, time.Minute), "k", clientv3.WithCreatedNotify())

	began := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %s", took)
	}
}
