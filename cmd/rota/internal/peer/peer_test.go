package peer

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/test/files"
)

// A process is reached at an address that its certificate does not list, if the certificate names a replica or worker of the
// cluster. A user of the cluster, and a process of another cluster, do not pass for one.
func TestAProcessIsKnownByItsIdentity(t *testing.T) {
	t.Parallel()
	own := pkitest.Dir(t, map[string]string{"q1": auth.KindReplica, "w1": auth.KindWorker, "alice": auth.KindUser})
	other := pkitest.Replicas(t, "q1")
	pair := func(dir, name string) (cert, key string) {
		return filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	}
	cert, key := pair(own, "q1")
	for _, tt := range []struct {
		name, dir, shows string
		ok               bool
	}{
		{"a worker", own, "w1", true},
		{"a user", own, "alice", false},
		{"a replica of another authority", other, "q1", false},
	} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		certificate, err := tls.LoadX509KeyPair(pair(tt.dir, tt.shows))
		if err != nil {
			t.Fatal(err)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		_, transport, err := Transport(config.ServerTLS{Cert: cert, Key: key, ClientCA: filepath.Join(own, "ca.crt")})
		if err != nil {
			t.Fatal(err)
		}
		// No certificate lists this address.
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://10.0.0.7:8470", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want accepted %t", tt.name, err, tt.ok)
		}
		if err == nil {
			resp.Body.Close()
		}
		transport.CloseIdleConnections()
		s.Close()
	}
}

// A new authority counts for the next connection. Otherwise the replicas would not reach each other after it has signed their
// certificates. While the file is not whole, the last authorities count.
func TestAnAuthorityIsReadAgain(t *testing.T) {
	t.Parallel()
	before, after := pkitest.Replicas(t, "q1"), pkitest.Replicas(t, "q1")
	cert, key, ca := filepath.Join(before, "q1.crt"), filepath.Join(before, "q1.key"), filepath.Join(before, "ca.crt")
	certificate, err := tls.LoadX509KeyPair(filepath.Join(after, "q1.crt"), filepath.Join(after, "q1.key"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	tlsOf := config.ServerTLS{Cert: cert, Key: key, ClientCA: ca}
	scheme, transport, err := Transport(tlsOf)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	ask := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+s.Listener.Addr().String(), nil)
		if err != nil {
			return err
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	if ask() == nil {
		t.Error("a certificate of an unknown authority is accepted")
	}
	old, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	additional, err := os.ReadFile(filepath.Join(after, "ca.crt"))
	if err == nil {
		err = os.WriteFile(ca, slices.Concat(old, additional), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("with both authorities in the file: %v", err)
	}
	whole := slices.Concat(old, additional)
	for what, text := range map[string][]byte{"an empty file": nil, "half a file": whole[:100]} {
		files.Write(t, ca, text)
		if _, _, err := Transport(tlsOf); err == nil || !strings.Contains(err.Error(), "no certificate in it") {
			t.Errorf("a process starts with %s: %v", what, err)
		}
		transport.CloseIdleConnections()
		if err := ask(); err != nil {
			t.Errorf("with %s, while the process runs: %v", what, err)
		}
	}
	files.Write(t, ca, old)
	if transport.CloseIdleConnections(); ask() == nil {
		t.Error("a certificate of an authority that was removed is accepted")
	}
}
