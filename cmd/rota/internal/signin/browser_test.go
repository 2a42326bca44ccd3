package signin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
	"github.com/rota-scheduler/rota/cmd/rota/internal/signin"
	"github.com/rota-scheduler/rota/test/provider"
)

// visit opens an address as a browser does. It returns the status at the end of all redirects.
func visit(ctx context.Context, t *testing.T, address string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestBrowser signs in by the code flow. An answer with another state is not for this sign-in, and does not end it.
func TestBrowser(t *testing.T) {
	p := provider.Start(t, false)
	login := func(user provider.Claims, show func(address string)) (credentials.OpenID, error) {
		p.Be(user)
		return signin.Browser(t.Context(), http.DefaultClient, p.Issuer, provider.Public, []string{"openid", "email"}, show)
	}
	follow := func(address string) {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		back := at.Query().Get("redirect_uri")
		if !strings.HasPrefix(back, "http://127.0.0.1:") {
			t.Errorf("the code would go to %s", back)
		}
		for _, forged := range []string{"?code=x&state=y", "?code=x", "?error=access_denied", "", "/other?code=x&state=" + at.Query().Get("state")} {
			if got := visit(t.Context(), t, back+forged); got < 400 {
				t.Errorf("the forged answer %s: got %d", forged, got)
			}
		}
		if got := visit(t.Context(), t, address); got != http.StatusOK {
			t.Errorf("the sign-in: got %d", got)
		}
	}
	bob := provider.Claims{"email": "bob@example.com"}
	got, err := login(bob, follow)
	if err != nil || got.IDToken == "" || got.Refresh == "" || got.ClientID != provider.Public {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := login(nil, follow); err == nil || !strings.Contains(err.Error(), "somebody denied it") || got.IDToken != "" {
		t.Errorf("refused by the person: got %v, %v", got, err)
	}
	p.ConfuseNonce("of another sign-in")
	if got, err := login(bob, follow); err == nil || !strings.Contains(err.Error(), "belongs to another sign-in") || got.IDToken != "" {
		t.Errorf("a token of another sign-in: got %v, %v", got, err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := signin.Browser(ctx, http.DefaultClient, p.Issuer, provider.Public, nil, func(string) {}); err == nil {
		t.Error("an ended sign-in succeeds")
	}
}

// A provider answers slow_down to a poll that is too early, and each such answer makes the next poll later.
func TestADeviceAsksOnceAtATime(t *testing.T) {
	t.Parallel()
	p := provider.Start(t, false)
	p.Be(provider.Claims{"email": "bob@example.com"})
	var done sync.WaitGroup
	defer done.Wait()
	_, err := signin.Device(t.Context(), http.DefaultClient, p.Issuer, provider.Public, []string{"openid"}, func(_, _, complete string) {
		done.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for p.Asked("/token") == 0 {
				<-tick.C
			}
			visit(t.Context(), t, complete)
		})
	})
	if err != nil || p.Asked("/token") > 3 {
		t.Errorf("got %v after %d polls", err, p.Asked("/token"))
	}
}

// A provider that gets too many requests, or is in trouble, does not end a sign-in. A provider that refuses the renewal does.
func TestOnlyARefusalEndsASignIn(t *testing.T) {
	for status, ends := range map[int]bool{400: true, 401: true, 408: false, 429: false, 500: false, 503: false} {
		var at string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				w.WriteHeader(status)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q,"jwks_uri":%q}`, at, at+"/token", at+"/keys")
		}))
		at = s.URL
		_, err := signin.Renew(t.Context(), s.Client(), credentials.OpenID{Issuer: at, ClientID: provider.Public, Refresh: "r"})
		if err == nil || errors.Is(err, signin.ErrAgain) != ends {
			t.Errorf("%d: got %v, want an end %t", status, err, ends)
		}
		s.Close()
	}
}

// TestAProviderHasTLS sends nothing to a provider elsewhere without TLS, also if its name begins like a loopback address.
func TestAProviderHasTLS(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a request would end at once, with another error
	for _, issuer := range []string{"http://login.example.com", "http://127.0.0.1.example.com", "http://127.example.com", "ftp://localhost"} {
		_, err := signin.Renew(ctx, http.DefaultClient, credentials.OpenID{Issuer: issuer, ClientID: "a", Refresh: "b"})
		if err == nil || !strings.Contains(err.Error(), "must begin with https://") {
			t.Errorf("%s: got %v", issuer, err)
		}
	}
}
