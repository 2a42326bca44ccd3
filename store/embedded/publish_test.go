package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/test/ports"
)

// A member whose TLS is optional answers clients with and without TLS on one port. Then it changes the URL at which its peers reach
// it, in the list of members, and back.
func TestAMemberChangesToTLSAndBack(t *testing.T) {
	t.Parallel()
	files := selfSigned(t)
	cfg := solo(t)
	client, peer := ports.Addr(t), ports.Addr(t)
	at := func(scheme string) Config {
		c := cfg
		c.Name, c.Client, c.Cluster = "q1", scheme+client, "q1="+scheme+peer
		return c
	}
	dialTLS := func() *clientv3.Client {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		ca, err := os.ReadFile(files.CA)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + client}, Logger: zap.NewNop(),
			TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	awaitPeer := func(s *Server, want string) {
		t.Helper()
		eventually(t, "the peer url is "+want, func() bool {
			_, own := s.members()
			return own != nil && slices.Equal(own.PeerURLs, []string{want})
		})
	}

	plain := start(t, at("http://"))
	put(t, dial(t, "http://"+client), "k", "plain")
	stop := func(s *Server) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop(plain)

	optional := at("http://")
	optional.ClientTLS, optional.PeerTLS, optional.Optional = files, files, true
	both := start(t, optional)
	put(t, dial(t, "http://"+client), "k", "still plain")
	put(t, dialTLS(), "k", "and TLS")
	wantValue(t, both.Client(), "k", "and TLS")
	awaitPeer(both, "http://"+peer)
	stop(both)

	required := at("https://")
	required.ClientTLS, required.PeerTLS = files, files
	closed := start(t, required)
	put(t, dialTLS(), "k", "TLS alone")
	awaitPeer(closed, "https://"+peer)
	if _, err := dial(t, "http://"+client).Get(withTimeout(t, time.Second), "k"); err == nil {
		t.Error("a member whose TLS is required answers a plain client")
	}
	stop(closed)

	back := start(t, optional)
	awaitPeer(back, "http://"+peer)
	stop(back)
	last := start(t, at("http://"))
	wantValue(t, last.Client(), "k", "TLS alone")
}

func TestOptionalTLSNeedsACertificate(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	cfg.Name, cfg.Optional = "q1", true
	if err := cfg.withDefaults().Validate(); err == nil || !strings.Contains(err.Error(), "tls is optional") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// Members change to TLS one after another, so a listed member is known by host and port.
func TestAListedMemberIsKnownUnderBothSchemes(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"http://q1:2380": true, "https://q1:2380": true, "https://q1:2381": false, "https://q2:2380": false, "": false, "%": false,
	} {
		if got := isAt([]string{"http://other:1", "http://q1:2380"}, peer{"q1", url}); got != want {
			t.Errorf("a member listed at %q: got %t, want %t", url, got, want)
		}
	}
}
