package cluster

import (
	"crypto/x509"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/rota-scheduler/rota/test/provider"
)

func (s *signedIn) byToken(t *testing.T) {
	stranger := provider.NewKey(t)
	all := func(change provider.Claims) provider.Claims {
		claims := provider.Claims{
			"iss": s.p.Issuer, "aud": provider.Client, "sub": "2", "email": "bob@example.com", "groups": []string{"sre"},
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		}
		maps.Copy(claims, change)
		return claims
	}
	for name, token := range map[string]string{
		"of the page":         s.p.Token(bob),
		"of the command line": s.p.Token(all(provider.Claims{"aud": []string{"x", provider.Public}})),
	} {
		if status, text, _ := s.visit(http.DefaultClient, "GET", s.node.URL+"/v1/jobs", token); status != http.StatusOK {
			t.Errorf("a token for the client %s: got %d, %s", name, status, text)
		}
	}
	if status, _, _ := s.visit(http.DefaultClient, "POST", s.node.URL+"/v1/pause", s.p.Token(bob)); status != http.StatusForbidden {
		t.Errorf("an operator pauses all jobs: got %d, want 403", status)
	}
	unsigned := provider.Unsigned(t, all(nil))
	for name, c := range map[string]struct{ token, reason string }{
		"for another client":      {s.p.Token(provider.Claims{"aud": "other"}), "audience is not accepted"},
		"that has expired":        {s.p.Token(all(provider.Claims{"exp": time.Now().Add(-time.Minute).Unix()})), "token has expired, at "},
		"of another issuer":       {s.p.Token(all(provider.Claims{"iss": "https://evil.example"})), "another issuer"},
		"with another key":        {provider.Sign(t, stranger, all(nil)), "the issuer has no key"},
		"without a signature":     {unsigned, `unexpected signature algorithm \"none\"`},
		"with the public as key":  {provider.Sign(t, hmacOf(t, s.p), all(nil)), `unexpected signature algorithm \"HS256\"`},
		"that was changed":        {tampered(s.p.Token(carol), s.p.Token(bob)), "no valid signature"},
		"without a name":          {s.p.Token(all(provider.Claims{"email": nil})), "names no principal"},
		"with a process for name": {s.p.Token(all(provider.Claims{"email": "replica/q1"})), "the name is that of a process"},
		"that is cut":             {s.p.Token(bob)[:100], "malformed"},
	} {
		before := strings.Count(s.node.Log(), c.reason)
		status, text, _ := s.visit(http.DefaultClient, "GET", s.node.URL+"/v1/jobs", c.token)
		if status != http.StatusUnauthorized || strings.Contains(text, c.reason) {
			t.Errorf("a token %s: got %d, %s; want 401 without a reason", name, status, text)
		}
		Await(t, 5*time.Second, "the log says that a token "+name+" has the mistake "+c.reason, func() bool {
			return strings.Count(s.node.Log(), c.reason) > before
		})
	}
}

// hmacOf returns a key for HS256 that is the public key of a provider, which everybody knows.
func hmacOf(t *testing.T, p *provider.Provider) jose.JSONWebKey {
	t.Helper()
	public := p.Public()
	text, err := x509.MarshalPKIXPublicKey(public.Key)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: text, KeyID: public.KeyID, Algorithm: string(jose.HS256)}
}

// tampered returns the claims of one token with the signature of another.
func tampered(signed, claims string) string {
	a, b := strings.Split(signed, "."), strings.Split(claims, ".")
	return a[0] + "." + b[1] + "." + a[2]
}

func (s *signedIn) anotherKey(t *testing.T) {
	old := s.p.Token(bob)
	ask := func(token string) int {
		status, _, _ := s.visit(http.DefaultClient, "GET", s.node.URL+"/v1/jobs", token)
		return status
	}
	if got := ask(old); got != http.StatusOK {
		t.Fatalf("before the rotation: got %d", got)
	}
	s.p.Rotate()
	fresh := s.p.Token(bob)
	Await(t, 5*time.Second, "a token of the next key is accepted", func() bool { return ask(fresh) == http.StatusOK })
	if got := ask(old); got != http.StatusUnauthorized {
		t.Errorf("a token of the removed key: got %d, want 401", got)
	}
	reads := s.p.Asked("/keys")
	stranger := provider.Sign(t, provider.NewKey(t), provider.Claims{"iss": s.p.Issuer, "aud": provider.Client, "sub": "1"})
	for range 200 {
		if got := ask(stranger); got != http.StatusUnauthorized {
			t.Fatalf("a token of a stranger: got %d", got)
		}
	}
	if got := s.p.Asked("/keys") - reads; got > 5 {
		t.Errorf("200 tokens of strangers made the replica read the keys %d times", got)
	}
}
