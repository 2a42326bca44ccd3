package auth_test

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// newToken makes a token for a principal. It returns the token and its text.
func newToken(t testing.TB, principal string, expires time.Time) (*auth.Token, string) {
	t.Helper()
	s, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &auth.Token{ID: s.ID, Hash: s.Hash(), Principal: principal, Expires: expires}, s.Text()
}

func TestTokensOfTheFileAndOfTheStoreProveCallers(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	inFile, fileText := newToken(t, "alice", time.Time{})
	inStore, storeText := newToken(t, "ci", now.Add(time.Hour))
	expired, expiredText := newToken(t, "old", now)
	_, strange := newToken(t, "mallory", time.Time{})
	d := auth.Directory{
		File: auth.File{
			Tokens:   []auth.Token{*inFile, *expired},
			Bindings: []auth.Binding{{Principal: "alice", Role: auth.Administrator}, {Principal: "ci", Role: auth.Viewer}},
		},
		Lookup: func(id string) (*auth.Token, error) {
			if id == inStore.ID {
				return inStore, nil
			}
			return nil, nil
		},
	}
	if c, err := d.ByToken(fileText, now); err != nil || c.Principal != "alice" || !c.May(auth.Admin, auth.Object{}) {
		t.Errorf("a token of the file: %+v, %v", c, err)
	}
	if c, err := d.ByToken(storeText, now); err != nil || c.Principal != "ci" || !c.Sees(auth.Object{Job: "x"}) || c.Any(auth.Operate) {
		t.Errorf("a token of the store: %+v, %v", c, err)
	}
	mixed := storeText[:17] + fileText[17:] // the id of one token with the secret of the other
	for text, want := range map[string]error{
		expiredText: auth.ErrExpired, strange: auth.ErrUnknown, mixed: auth.ErrToken, "": auth.ErrToken,
	} {
		if c, err := d.ByToken(text, now); !errors.Is(err, want) || !c.Anonymous() || c.Any(auth.Read) {
			t.Errorf("%q: got %+v, %v, want %v", text, c, err, want)
		}
	}
}

func TestCertificatesProveCallers(t *testing.T) {
	d := auth.Directory{File: auth.File{
		Bindings:     []auth.Binding{{Principal: "alice", Role: auth.Operator}, {Principal: "ci", Role: auth.Viewer}},
		Certificates: map[string]string{"ci.internal": "ci"},
	}}
	for _, tt := range []struct {
		uri, name, want string
		right           auth.Right
	}{
		{"rota://prod/user/alice", "x", "alice", auth.Operate},
		{"rota://prod/replica/q1", "x", "replica/q1", auth.Peer},
		{"rota://stage/user/alice", "x", "alice", auth.Operate}, // the authority decides, not the name of the cluster
		{"rota://prod/nobody/alice", "ci.internal", "ci", auth.Read},
		{"", "ci.internal", "ci", auth.Read},
		{"", "alice", "", ""},
	} {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: tt.name}}
		if u, err := url.Parse(tt.uri); err == nil && tt.uri != "" {
			cert.URIs = []*url.URL{u}
		}
		c, err := d.ByCertificate(cert)
		if c.Principal != tt.want || (err == nil) != (tt.want != "") || tt.want != "" && !c.May(tt.right, auth.Object{}) {
			t.Errorf("%s, %s: got %+v, %v", tt.uri, tt.name, c, err)
		}
	}
}

func TestASessionByOpenIDNeedsTheProviderAndItsGroups(t *testing.T) {
	now := time.Now()
	d := auth.Directory{OpenID: true, File: auth.File{Bindings: []auth.Binding{{Group: "sre", Role: auth.Operator}}}}
	c := d.ByOpenID(auth.Identity{Principal: "bob", Groups: []string{"sre"}, Method: auth.ByOIDC})
	s := auth.NewSession(c, now, auth.SessionLife)
	if got, err := d.BySession(&s, now); err != nil || got.Principal != "bob" || !got.May(auth.Operate, auth.Object{}) {
		t.Errorf("got %+v, %v", got, err)
	}
	d.File.Bindings = nil
	if got, err := d.BySession(&s, now); err != nil || got.Any(auth.Read) {
		t.Errorf("without the binding: got %+v, %v", got, err)
	}
	d.OpenID = false
	if got, err := d.BySession(&s, now); !errors.Is(err, auth.ErrSession) {
		t.Errorf("without the provider: got %+v, %v", got, err)
	}
}

func TestASecretIsNotInAnError(t *testing.T) {
	var d auth.Directory
	token, text := newToken(t, "x", time.Time{})
	_, err := d.ByToken(text, time.Now())
	if err == nil || strings.Contains(err.Error(), text) || strings.Contains(fmt.Sprintf("%+v", token), strings.Split(text, "_")[2]) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkByToken shows that a look-up costs the same with many tokens as with few.
func BenchmarkByToken(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := make(map[string]*auth.Token, n)
			for i := range n - 1 {
				all[fmt.Sprintf("id%d", i)] = &auth.Token{}
			}
			token, text := newToken(b, "ci", time.Time{})
			all[token.ID] = token
			d := auth.Directory{Lookup: func(id string) (*auth.Token, error) { return all[id], nil }}
			for b.Loop() {
				if _, err := d.ByToken(text, time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
