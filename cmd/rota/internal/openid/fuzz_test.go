package openid_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rota-scheduler/rota/test/provider"
)

// FuzzToken sends texts that the provider has not signed. None of them proves a principal.
func FuzzToken(f *testing.F) {
	p := provider.Start(f, false)
	o, _ := open(f, p)
	bob := provider.Claims{"iss": p.Issuer, "aud": provider.Client, "email": "bob@example.com", "exp": 1 << 40}
	genuine := p.Token(bob)
	f.Add(provider.Unsigned(f, bob))
	f.Add(provider.Sign(f, provider.NewKey(f), bob))
	f.Add(strings.TrimRight(genuine, "AQgw"))
	f.Add("a.e30.b")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		if who, err := o.Verify(t.Context(), text, time.Now()); err == nil {
			t.Errorf("%q proves %+v", text, who)
		}
	})
}

// FuzzClaims signs any claims with the key of the provider. A principal and its groups are printable, and no process of the cluster.
func FuzzClaims(f *testing.F) {
	p := provider.Start(f, false)
	key := p.Rotate()
	o, _ := open(f, p)
	for _, text := range []string{
		`{"email": "bob@example.com", "roles": ["a", 1, null, ["b"]], "email_verified": true}`,
		`{"email": "worker/w1"}`, `{"email": {"a": 1}, "roles": "a"}`, `{"aud": ["ci", 1], "email": "ci"}`,
		`{"exp": 1e300, "iat": "x", "nbf": -1, "email": "a"}`, `{"email": "a\u2028\u202eb", "roles": ["c\u0000"]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var claims provider.Claims
		if json.Unmarshal([]byte(text), &claims) != nil {
			return
		}
		now := time.Now()
		all := provider.Claims{"iss": p.Issuer, "aud": provider.Client, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
		maps.Copy(all, claims)
		who, err := o.Verify(t.Context(), provider.Sign(t, key, all), now)
		if err != nil {
			if !who.Anonymous() {
				t.Errorf("%s: %v, and %+v", text, err, who)
			}
			return
		}
		for _, name := range append(who.Groups, who.Principal) {
			if name == "" || len(name) > 255 || strings.ContainsFunc(name, unicode.IsControl) {
				t.Errorf("%s: the name %q", text, name)
			}
		}
		if who.Peer() || strings.HasPrefix(who.Principal, "replica/") || strings.HasPrefix(who.Principal, "worker/") {
			t.Errorf("%s: a person counts as the process %q", text, who.Principal)
		}
	})
}
