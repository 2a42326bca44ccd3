package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func TestCertificatesServeAtBothEnds(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	made, err := pki.Init(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Issue(dir, pki.Request{Name: "q1", Kind: auth.KindReplica, Hosts: []string{"q1.internal", "10.0.0.1"}, Life: 90 * 24 * time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	loaded, err := pki.Load(dir)
	if err != nil || loaded.Cluster != "prod" {
		t.Fatalf("got %+v, %v", loaded, err)
	}
	if err := loaded.Issue(dir, pki.Request{Name: "alice", Kind: auth.KindUser, Life: time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca.key", "q1.key", "alice.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pair := func(name string) tls.Certificate {
		p, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, host := range []string{"q1", "q1.internal", "10.0.0.1", "localhost", "127.0.0.1"} {
		near, far := net.Pipe()
		server := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{pair("q1")}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
		client := tls.Client(near, &tls.Config{Certificates: []tls.Certificate{pair("alice")}, RootCAs: pool, ServerName: host})
		done := make(chan error, 1)
		go func() { done <- server.HandshakeContext(t.Context()) }()
		if err := client.HandshakeContext(t.Context()); err != nil {
			t.Errorf("%s: %v", host, err)
		} else if err := <-done; err != nil {
			t.Errorf("%s: the server: %v", host, err)
		} else if id, err := auth.ParseCertificateID(server.ConnectionState().PeerCertificates[0].URIs[0]); err != nil || id.Identity().Principal != "alice" {
			t.Errorf("%s: the client is %+v, %v", host, id, err)
		}
		_, _ = near.Close(), far.Close()
	}
}

// TestAClusterHasANameThatCertificatesCanHold makes authorities. Each must issue a certificate that can be read.
func TestAClusterHasANameThatCertificatesCanHold(t *testing.T) {
	for name, good := range map[string]bool{
		"prod": true, "Prod-2": true, "prod.eu": true, "prod_eu": true,
		"": false, "prod eu": false, "prod/eu": false, "größe": false, "prod.": false, "prod:x": false, strings.Repeat("x", 64): false,
	} {
		dir, now := t.TempDir(), time.Now()
		a, err := pki.Init(dir, name, now)
		if (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil {
			continue
		}
		err = a.Issue(dir, pki.Request{Name: "q1", Kind: auth.KindReplica, Life: time.Hour}, now)
		if err != nil || len(pki.Names(dir, "q1")) == 0 {
			t.Errorf("%q: got %q, %v", name, pki.Names(dir, "q1"), err)
		}
	}
}

func TestAnAuthorityIsNotReplaced(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	a, err := pki.Init(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pki.Init(dir, "prod", now); err == nil {
		t.Error("a second authority replaces the first")
	}
	for _, req := range []pki.Request{
		{Name: "x", Kind: "admin", Life: time.Hour}, {Name: "", Kind: auth.KindUser, Life: time.Hour},
		{Name: "../x", Kind: auth.KindUser, Life: time.Hour}, {Name: "x", Kind: auth.KindUser, Life: 20 * 365 * 24 * time.Hour},
	} {
		if err := a.Issue(dir, req, now); err == nil {
			t.Errorf("%+v: a certificate is issued", req)
		}
	}
	if _, err := pki.Load(t.TempDir()); err == nil {
		t.Error("an empty directory has an authority")
	}
}
