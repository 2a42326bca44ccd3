package authn_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/poll"
)

var eventually = poll.Until

func secret(t testing.TB) auth.Secret {
	t.Helper()
	s, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(t testing.TB, token, certificate string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/jobs", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if certificate != "" {
		u, err := url.Parse(certificate)
		if err != nil {
			t.Fatal(err)
		}
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: "x"}, URIs: []*url.URL{u}, NotAfter: time.Now().Add(time.Hour)}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
	}
	return r
}

func entry(s auth.Secret, principal, role string) string {
	return fmt.Sprintf("  - {id: %s, sha256: %s, principal: %s, role: %s}\n", s.ID, s.Hash(), principal, role)
}

// A user of the machine who can write the file could give itself every role.
func TestAFileOfEverybodyIsRefused(t *testing.T) {
	path, s := filepath.Join(t.TempDir(), "auth.yaml"), secret(t)
	files.Write(t, path, "tokens:\n"+entry(s, "alice", "admin"))
	a, err := authn.Open(path, time.Now, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	chmod := func(mode os.FileMode, wrong bool) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("with the mode %v, wrong is %v", mode, wrong), func() bool { return (a.Mistake() != nil) == wrong })
		if c, err := a.Authenticate(request(t, s.Text(), "")); err != nil || c.Principal != "alice" {
			t.Errorf("with the mode %v, the last good version is not in force: %v, %v", mode, c, err)
		}
	}
	chmod(0o666, true)
	if _, err := authn.Open(path, time.Now, hclog.NewNullLogger()); err == nil {
		t.Error("a process starts with the file")
	}
	chmod(0o644, false)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// refusals counts the lines of a log that report a bad auth.file.
type refusals struct{ atomic.Int64 }

func (r *refusals) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("auth.file has mistakes")) {
		r.Add(1)
	}
	return len(line), nil
}

func TestTheFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth.yaml")
	write := func(text string) {
		files.Write(t, path+".new", text)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := authn.Open(path, time.Now, hclog.NewNullLogger()); err == nil {
		t.Error("a file that is not there is taken")
	}
	first, second := secret(t), secret(t)
	write("tokens:\n" + entry(first, "ci", "viewer"))
	var refused refusals
	a, err := authn.Open(path, time.Now, hclog.New(&hclog.LoggerOptions{Output: &refused}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	defer func() { stop(); <-done }()
	proves := func(s auth.Secret) bool {
		c, err := a.Authenticate(request(t, s.Text(), ""))
		return err == nil && !c.Anonymous()
	}
	if !proves(first) || proves(second) {
		t.Fatal("the tokens of the first file are not those that count")
	}
	write("tokens:\n" + entry(second, "ci", "admin"))
	eventually(t, "the second file counts", func() bool { return proves(second) && !proves(first) })
	for what, spoil := range map[string]func(){
		"no YAML":         func() { write("tokens: [nonsense") },
		"an unknown role": func() { write("tokens:\n" + entry(second, "ci", "king")) },
		"no file": func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		before := refused.Load()
		spoil()
		eventually(t, what+" is refused", func() bool { return refused.Load() > before })
		if !proves(second) || proves(first) {
			t.Errorf("%s: the last good file is no longer in force", what)
		}
		write("tokens:\n" + entry(second, "ci", "admin"))
	}
	write("tokens:\n" + entry(first, "ci", "viewer"))
	eventually(t, "a good file counts again", func() bool { return proves(first) && !proves(second) })
}

func TestTokenAndCertificateNameOnePrincipal(t *testing.T) {
	path, s := filepath.Join(t.TempDir(), "auth.yaml"), secret(t)
	files.Write(t, path, "tokens:\n"+entry(s, "alice", "viewer")+"bindings: [{principal: bob, role: operator}]\n")
	a, err := authn.Open(path, time.Now, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, token, certificate, want string }{
		{"nothing", "", "", ""},
		{"a token", s.Text(), "", "alice"},
		{"a certificate", "", "rota://x/user/bob", "bob"},
		{"a replica's certificate", "", "rota://x/replica/q1", "replica/q1"},
		{"both, of one", s.Text(), "rota://x/user/alice", "alice"},
		{"both, of two", s.Text(), "rota://x/user/bob", "error"},
		{"a token by a replica", s.Text(), "rota://x/replica/q1", "alice"},
		{"a wrong token with a good certificate", "rota_x", "rota://x/user/bob", "error"},
		{"a certificate of nobody", "", "https://x/", "error"},
	} {
		c, err := a.Authenticate(request(t, tt.token, tt.certificate))
		if tt.want == "error" && (err == nil || !c.Anonymous()) || tt.want != "error" && (err != nil || c.Principal != tt.want) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, c.Principal, err, tt.want)
		}
	}
}

// RFC 9110: the scheme of an Authorization header is the same word in any case.
func TestTheCaseOfTheSchemeDoesNotCount(t *testing.T) {
	path, s := filepath.Join(t.TempDir(), "auth.yaml"), secret(t)
	files.Write(t, path, "tokens:\n"+entry(s, "alice", "viewer"))
	a, err := authn.Open(path, time.Now, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[string]string{"Bearer ": "alice", "bearer ": "alice", "BEARER ": "alice", "Bear ": "", "Bearer": "", "": ""} {
		r := request(t, "", "")
		r.Header.Set("Authorization", scheme+s.Text())
		if c, err := a.Authenticate(r); c.Principal != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", scheme, c.Principal, err, want)
		}
	}
}

// TLS checks the expiry of a certificate only when a connection begins, and a connection can last for weeks.
func TestACertificateExpiresDuringItsConnection(t *testing.T) {
	a, _ := replicas(t)
	r := request(t, "", "rota://x/user/bob")
	if c, err := a.Authenticate(r); err != nil || c.Principal != "bob" {
		t.Errorf("got %v, %v", c, err)
	}
	a.advance(2 * time.Hour)
	if c, err := a.Authenticate(r); !errors.Is(err, auth.ErrOutdated) || !c.Anonymous() {
		t.Errorf("after its end: got %v, %v, want %v", c, err, auth.ErrOutdated)
	}
}

// A browser keeps the cookie of a session that has ended. Its certificate must still count, because nothing else can sign it in.
func TestACertificateCountsBesideAnEndedSession(t *testing.T) {
	a, _ := replicas(t)
	a.UseStore(a.store)
	for certificate, want := range map[string]string{"rota://x/user/bob": "bob", "rota://x/replica/q1": ""} {
		r := request(t, "", certificate)
		r.AddCookie(&http.Cookie{Name: "__Host-rota", Value: strings.Repeat("x", 43)})
		if c, err := a.Authenticate(r); c.Principal != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", certificate, c.Principal, err, want)
		}
	}
}
