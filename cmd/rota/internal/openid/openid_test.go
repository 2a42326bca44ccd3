package openid_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/openid"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/provider"
)

// open returns a provider, and the clock by which rota uses it. Nothing reads the addresses and keys in the background.
func open(t testing.TB, p *provider.Provider) (*openid.Provider, *atomic.Pointer[time.Time]) {
	t.Helper()
	var clock atomic.Pointer[time.Time]
	now := time.Now()
	clock.Store(&now)
	o, err := openid.Open(config.OpenID{
		Issuer: p.Issuer, ClientID: provider.Client, CLIClientID: provider.Public, Audiences: []string{"ci"},
		PrincipalClaim: "email", GroupsClaim: "roles",
	}, func() time.Time { return *clock.Load() }, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return o, &clock
}

func advance(clock *atomic.Pointer[time.Time], d time.Duration) {
	next := clock.Load().Add(d)
	clock.Store(&next)
}

func TestATokenOfTheProviderProvesItsPrincipal(t *testing.T) {
	p := provider.Start(t, false)
	o, _ := open(t, p)
	for name, c := range map[string]struct {
		claims    provider.Claims
		principal string
		groups    string
		err       error
	}{
		"a person":                     {provider.Claims{"email": "bob@example.com", "roles": []string{"a", "b"}}, "bob@example.com", "a b", nil},
		"a verified address":           {provider.Claims{"email": "bob@example.com", "email_verified": "true"}, "bob@example.com", "", nil},
		"one group as text":            {provider.Claims{"email": "bob@example.com", "roles": "a"}, "bob@example.com", "a", nil},
		"groups of wrong types":        {provider.Claims{"email": "bob@example.com", "roles": []any{1, "a", nil, "b\n"}}, "bob@example.com", "a", nil},
		"a further audience":           {provider.Claims{"email": "ci@example.com", "aud": []string{"x", "ci"}}, "ci@example.com", "", nil},
		"the command line":             {provider.Claims{"email": "bob@example.com", "aud": provider.Public}, "bob@example.com", "", nil},
		"another audience":             {provider.Claims{"email": "bob@example.com", "aud": []string{"x"}}, "", "", auth.ErrAudience},
		"no audience":                  {provider.Claims{"email": "bob@example.com", "aud": nil}, "", "", auth.ErrAudience},
		"another issuer":               {provider.Claims{"email": "bob@example.com", "iss": "https://evil.example"}, "", "", auth.ErrIssuer},
		"an expired token":             {provider.Claims{"email": "bob@example.com", "exp": 1}, "", "", auth.ErrExpired},
		"a token that ended in 1970":   {provider.Claims{"email": "bob@example.com", "exp": 0}, "", "", auth.ErrExpired},
		"no address":                   {provider.Claims{"sub": "bob"}, "", "", auth.ErrPrincipal},
		"an address that is no text":   {provider.Claims{"email": []string{"bob@example.com"}}, "", "", auth.ErrPrincipal},
		"an address with a line break": {provider.Claims{"email": "bob@example.com\nroot"}, "", "", auth.ErrPrincipal},
		"what looks like an address":   {provider.Claims{"email": "bob@example.com\u200b"}, "", "", auth.ErrPrincipal},
		"an address that turns around": {provider.Claims{"email": "\u202emoc.elpmaxe@bob"}, "", "", auth.ErrPrincipal},
		"an unverified address":        {provider.Claims{"email": "bob@example.com", "email_verified": false}, "", "", auth.ErrPrincipal},
		"the name of a process":        {provider.Claims{"email": "worker/w1"}, "", "", auth.ErrPrincipal},
	} {
		who, err := o.Verify(t.Context(), p.Token(c.claims), time.Now())
		if !errors.Is(err, c.err) || who.Principal != c.principal || strings.Join(who.Groups, " ") != c.groups {
			t.Errorf("%s: got %+v, %v, want %q in %q, %v", name, who, err, c.principal, c.groups, c.err)
		}
		if err == nil && who.Method != auth.ByOIDC {
			t.Errorf("%s: got the method %q", name, who.Method)
		}
	}
}

func TestKeysFollowTheProvider(t *testing.T) {
	p := provider.Start(t, false)
	o, clock := open(t, p)
	bob := provider.Claims{"email": "bob@example.com"}
	ask := func(token string) error {
		_, err := o.Verify(t.Context(), token, time.Now())
		return err
	}
	old := p.Token(bob)
	if err := ask(old); err != nil {
		t.Fatal(err)
	}
	p.Rotate()
	if err := ask(old); err != nil {
		t.Errorf("the removed key counts until the next read: got %v", err)
	}
	reads := p.Asked("/keys")
	for range 10 {
		if err := ask(p.Token(bob)); !errors.Is(err, auth.ErrSignature) {
			t.Fatalf("within two seconds after the last read: got %v, want %v", err, auth.ErrSignature)
		}
	}
	if got := p.Asked("/keys"); got != reads {
		t.Errorf("unknown keys within two seconds made %d reads", got-reads)
	}
	advance(clock, 3*time.Second)
	if err := ask(p.Token(bob)); err != nil {
		t.Errorf("a token of the next key: %v", err)
	}
	if err := ask(old); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("a token of the removed key: got %v, want %v", err, auth.ErrSignature)
	}
	advance(clock, 3*time.Second)
	reads = p.Asked("/keys")
	if err := ask(provider.Sign(t, provider.NewKey(t), provider.Claims{"iss": "https://evil.example"})); !errors.Is(err, auth.ErrIssuer) {
		t.Errorf("a stranger's token: got %v, want %v", err, auth.ErrIssuer)
	}
	if got := p.Asked("/keys"); got != reads {
		t.Error("the token of another issuer made this process ask the provider")
	}
}

// An answer that is no set of keys, such as that of a proxy, must not end all sign-ins.
func TestKeysOutliveAnAnswerWithoutKeys(t *testing.T) {
	p := provider.Start(t, false)
	o, clock := open(t, p)
	token := p.Token(provider.Claims{"email": "bob@example.com"})
	if _, err := o.Verify(t.Context(), token, time.Now()); err != nil {
		t.Fatal(err)
	}
	p.Blank(true)
	advance(clock, 3*time.Second)
	stranger := provider.Sign(t, provider.NewKey(t), provider.Claims{"iss": p.Issuer})
	if _, err := o.Verify(t.Context(), stranger, time.Now()); !errors.Is(err, auth.ErrSignature) || o.Trouble() == nil {
		t.Fatalf("an unknown key: got %v, and the trouble %v", err, o.Trouble())
	}
	if _, err := o.Verify(t.Context(), token, time.Now()); err != nil {
		t.Errorf("a token of the last known key: %v", err)
	}
}

// The secret of the client and the code are for the token endpoint alone.
func TestTheSecretIsNotSentElsewhere(t *testing.T) {
	p := provider.Start(t, false)
	p.Be(provider.Claims{"email": "bob@example.com"})
	p.Divert(p.Issuer + "/elsewhere")
	o, _ := open(t, p)
	in, _, err := o.Begin(t.Context(), "http://q1/login/callback")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.End(t.Context(), in, "http://q1/login/callback", "code", time.Now()); err == nil {
		t.Error("the sign-in succeeds")
	}
	if p.Asked("/token") == 0 || p.Asked("/elsewhere") > 0 {
		t.Errorf("got %d requests for a token, and %d elsewhere", p.Asked("/token"), p.Asked("/elsewhere"))
	}
}

func TestAKeyIsReplacedUnderItsID(t *testing.T) {
	p := provider.Start(t, false)
	o, clock := open(t, p)
	for range 2 {
		if _, err := o.Verify(t.Context(), p.Token(provider.Claims{"email": "bob@example.com"}), time.Now()); err != nil {
			t.Error(err)
		}
		p.Replace()
		advance(clock, 3*time.Second)
	}
}

// TestTheSecretIsSentAsTheProviderSays signs in where a code counts for one request, whatever proof that request has.
func TestTheSecretIsSentAsTheProviderSays(t *testing.T) {
	p := provider.Start(t, false)
	p.ByPost()
	p.Be(provider.Claims{"email": "bob@example.com"})
	secret := files.Write(t, filepath.Join(t.TempDir(), "secret"), provider.Secret)
	o, err := openid.Open(config.OpenID{
		Issuer: p.Issuer, ClientID: provider.Client, ClientSecretFile: secret, Scopes: []string{"openid"}, PrincipalClaim: "email",
	}, time.Now, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	const redirect = "http://q1/login/callback"
	in, address, err := o.Begin(t.Context(), redirect)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	back, err := res.Location()
	if err != nil {
		t.Fatal(err)
	}
	who, err := o.End(t.Context(), in, redirect, back.Query().Get("code"), time.Now())
	if err != nil || who.Principal != "bob@example.com" || p.Asked("/token") != 1 {
		t.Errorf("got %+v, %v after %d requests, want bob after one", who, err, p.Asked("/token"))
	}
}

func TestAnOutageOfTheProvider(t *testing.T) {
	p := provider.Start(t, false)
	bob := provider.Claims{"email": "bob@example.com"}
	token := p.Token(bob)
	p.Down(true)
	o, clock := open(t, p)
	ask := func() error {
		_, err := o.Verify(t.Context(), token, time.Now())
		return err
	}
	if err := ask(); !errors.Is(err, auth.ErrProvider) || o.Trouble() == nil {
		t.Errorf("a provider that never answered: got %v, %v", err, o.Trouble())
	}
	if _, _, err := o.Begin(t.Context(), "http://localhost/login/callback"); !errors.Is(err, auth.ErrProvider) {
		t.Errorf("a sign-in without the provider: got %v", err)
	}
	p.Down(false)
	advance(clock, 3*time.Second)
	if err := ask(); err != nil || o.Trouble() != nil {
		t.Errorf("the provider is back: got %v, %v", err, o.Trouble())
	}
	p.Down(true)
	advance(clock, 23*time.Hour)
	if err := ask(); err != nil {
		t.Errorf("keys of a provider that is away for 23 hours: got %v", err)
	}
	advance(clock, 2*time.Hour)
	if err := ask(); !errors.Is(err, auth.ErrProvider) {
		t.Errorf("keys of a provider that is away for 25 hours: got %v, want %v", err, auth.ErrProvider)
	}
}

// TestRequestsDoNotWaitOneAfterAnother lets two requests ask a provider that takes five seconds to fail. Requests that waited for the
// same answer must not ask again.
func TestRequestsDoNotWaitOneAfterAnother(t *testing.T) {
	var asked, seconds atomic.Int64
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		seconds.Add(5)
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	o, err := openid.Open(config.OpenID{Issuer: server.URL, ClientID: "rota"}, func() time.Time {
		return began.Add(time.Duration(seconds.Load()) * time.Second)
	}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := o.Begin(t.Context(), "https://rota.example/"); !errors.Is(err, auth.ErrProvider) {
			t.Errorf("got %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	seconds.Add(3)
	if _, _, err := o.Begin(t.Context(), "https://rota.example/"); err == nil {
		t.Error("a provider that fails is used")
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("after a while, the provider was asked %d times in all", n)
	}
}

func TestRunReadsTheKeysAgain(t *testing.T) {
	p := provider.Start(t, false)
	o, _ := open(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	deadline := time.After(5 * time.Second)
	for p.Asked("/keys") == 0 {
		select {
		case <-deadline:
			t.Fatal("the keys were not read")
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
