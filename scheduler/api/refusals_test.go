package api_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func TestRefusalsDoNotFillTheLog(t *testing.T) {
	var log bytes.Buffer
	cfg := api.DefaultConfig()
	d := newDoorman()
	cfg.Auth, cfg.Sessions = d, d
	handler := api.New(cfg, guarded().backend(), hclog.New(&hclog.LoggerOptions{Output: &log})).Handler()
	ask := func(remote string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/jobs", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", "Bearer rota_wrong")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Fatalf("got %d, want 401", w.Code)
		}
	}
	for range 1000 {
		ask("192.0.2.1:1")
	}
	if got := strings.Count(log.String(), "wrong proof"); got < 50 || got > 60 {
		t.Errorf("1000 refusals of one client wrote %d lines", got)
	}
	log.Reset()
	if ask("192.0.2.2:1"); strings.Count(log.String(), "wrong proof") != 1 {
		t.Error("the refusal of another client has no line")
	}
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	b := &bearer{}
	viewer := "Bearer " + b.give(t, auth.Viewer)
	var mu sync.Mutex
	var got []string
	srv := serve(t, guarded().backend(), func(c *api.Config) {
		c.Auth, c.Refused = b, func(reason string) { mu.Lock(); defer mu.Unlock(); got = append(got, reason) }
	})
	for _, test := range []struct {
		method, path string
		headers      []string
		want         []string
	}{
		{"GET", "/v1/jobs", []string{"Authorization", viewer}, nil},
		{"GET", "/v1/jobs", nil, []string{api.RefusedNobody}},
		{"GET", "/v1/jobs", []string{"Authorization", viewer + "x"}, []string{api.RefusedIdentity, api.RefusedNobody}},
		{"POST", "/v1/jobs/in-http/pause", []string{"Authorization", viewer}, []string{api.RefusedRight}},
		{"GET", "/v1/jobs", []string{"Host", "evil.example"}, []string{api.RefusedHost}},
		{"POST", "/v1/jobs/in-http/pause", []string{"Origin", "https://evil.example"}, []string{api.RefusedOrigin}},
	} {
		ask(t, srv, test.method, test.path, "", test.headers...)
		if mu.Lock(); !slices.Equal(got, test.want) {
			t.Errorf("%s %s %q: counted %q, want %q", test.method, test.path, test.headers, got, test.want)
		}
		got = nil
		mu.Unlock()
	}
}

// jws is a doorman to whom each token comes from another issuer.
type jws struct{ *doorman }

func (jws) ByToken(context.Context, string) (auth.Caller, error) {
	return auth.Caller{}, auth.ErrIssuer
}

func TestSignInsDoNotFillTheLog(t *testing.T) {
	var log bytes.Buffer
	cfg := api.DefaultConfig()
	d := jws{newDoorman()}
	cfg.Auth, cfg.Sessions, cfg.OpenID = d, d, &organization{}
	handler := api.New(cfg, guarded().backend(), hclog.New(&hclog.LoggerOptions{Output: &log})).Handler()
	ask := func(method, path, body, cookie string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	begun := ask("GET", "/login/oidc", "", "").Result().Cookies()[0]
	reason := strings.Repeat("x", 1000)
	for range 200 {
		if w := ask("POST", "/login", "token=a.b.c", ""); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "not valid") {
			t.Fatalf("a token of another issuer: got %d %s, want 401", w.Code, w.Body)
		}
		if w := ask("GET", "/login/callback?state=s&error="+reason, "", begun.Name+"="+begun.Value); w.Code != http.StatusUnauthorized {
			t.Fatalf("a refusal of the provider: got %d, want 401", w.Code)
		}
	}
	if got := strings.Count(log.String(), "\n"); got < 50 || got > 60 || strings.Contains(log.String(), reason) {
		t.Errorf("400 refusals of one client wrote %d lines, %d bytes", got, log.Len())
	}
}

// outdated is an Authenticator of a client whose certificate has expired since it connected.
type outdated struct{}

func (outdated) Authenticate(*http.Request) (auth.Caller, error) {
	return auth.Caller{}, auth.ErrOutdated
}

// The client may have renewed its certificate. It presents it with its next connection.
func TestAnOutdatedCertificateEndsItsConnection(t *testing.T) {
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = outdated{} })
	if res := browse(t, "GET", srv.URL+"/v1/jobs", nil); res.StatusCode != http.StatusUnauthorized || !res.Close {
		t.Errorf("got %d, and the connection closes: %t, want 401 and true", res.StatusCode, res.Close)
	}
}
