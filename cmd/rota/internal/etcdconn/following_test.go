package etcdconn

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/files"
)

// The members of etcd get certificates of another authority while a process runs. It must reach them without a restart. Without
// the authority, and under another name, it reaches nobody.
func TestTheAuthorityOfEtcdIsReadAgain(t *testing.T) {
	t.Parallel()
	before, after := pkitest.Replicas(t, "etcd-1"), pkitest.Replicas(t, "etcd-1")
	own := config.ClientTLS{
		Cert: filepath.Join(before, "etcd-1.crt"), Key: filepath.Join(before, "etcd-1.key"), CA: filepath.Join(before, "ca.crt"),
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(after, "etcd-1.crt"), filepath.Join(after, "etcd-1.key"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientTLS(own)
	if err != nil {
		t.Fatal(err)
	}
	creds := newFollowing(cfg, own.CA).Clone()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { // ends with the listener
		defer close(served)
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			_, _ = io.Copy(io.Discard, conn) // until the client closes the connection
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-served
	})
	ask := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		raw, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, _, err := creds.ClientHandshake(ctx, name, raw)
		if err == nil {
			_ = conn.Close()
		}
		_ = raw.Close()
		return err
	}
	if ask("etcd-1:2379") == nil {
		t.Error("a member of an unknown authority is trusted")
	}
	ca, err := os.ReadFile(filepath.Join(after, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	files.Write(t, own.CA, ca)
	if err := ask("etcd-1:2379"); err != nil {
		t.Errorf("after the change of the authority: %v", err)
	}
	if ask("etcd-2:2379") == nil {
		t.Error("a member with a certificate for another name is trusted")
	}
	files.Write(t, own.CA, "")
	if err := ask("127.0.0.1:2379"); err != nil {
		t.Errorf("while the file is empty: %v", err)
	}
}
