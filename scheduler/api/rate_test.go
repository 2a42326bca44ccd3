package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func TestChangesAreLimitedByClient(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
	s.now = func() time.Time { return now }
	handler := s.limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(method, client string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/v1/runs", nil)
		r.RemoteAddr = client + ":1234"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for i := range changesAtOnce {
		if w := ask(http.MethodPost, "10.0.0.1"); w.Code != http.StatusOK {
			t.Fatalf("change %d: got %d", i, w.Code)
		}
	}
	w := ask(http.MethodPost, "10.0.0.1")
	if after, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusTooManyRequests || err != nil || after < 1 {
		t.Errorf("one more: got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := ask(http.MethodPost, "10.0.0.2"); w.Code != http.StatusOK {
		t.Errorf("another client: got %d", w.Code)
	}
	if w := ask(http.MethodGet, "10.0.0.1"); w.Code != http.StatusOK {
		t.Errorf("reading: got %d", w.Code)
	}
	now = now.Add(time.Second)
	for i := range changesPerSecond {
		if w := ask(http.MethodPost, "10.0.0.1"); w.Code != http.StatusOK {
			t.Fatalf("change %d of the next second: got %d", i, w.Code)
		}
	}
	if w := ask(http.MethodPost, "10.0.0.1"); w.Code != http.StatusTooManyRequests {
		t.Errorf("more than a second allows: got %d", w.Code)
	}
}

// A role with many readers, such as a page of a team behind one address, must not notice the limit. A loop without a pause must.
func TestReadsAreLimitedByClient(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var refused []string
	cfg := DefaultConfig()
	cfg.Reads, cfg.Refused = 100, func(reason string) { refused = append(refused, reason) }
	s := New(cfg, Backend{}, hclog.NewNullLogger())
	s.now = func() time.Time { return now }
	handler := s.readsLimited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(method string, who auth.Identity) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/v1/jobs", nil)
		r = r.WithContext(context.WithValue(r.Context(), provenKey{}, auth.Caller{Identity: who}))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	alice := auth.Identity{Principal: "alice", Method: auth.ByToken}
	for i := range 400 {
		if w := ask(http.MethodGet, alice); w.Code != http.StatusOK {
			t.Fatalf("read %d: got %d", i, w.Code)
		}
	}
	w := ask(http.MethodGet, alice)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !slices.Equal(refused, []string{RefusedRate}) {
		t.Errorf("one more: got %d, Retry-After %q, counted %q", w.Code, w.Header().Get("Retry-After"), refused)
	}
	for what, got := range map[string]*httptest.ResponseRecorder{
		"a change":        ask(http.MethodPost, alice),
		"another client":  ask(http.MethodGet, auth.Identity{Principal: "bob", Method: auth.ByToken}),
		"another address": ask(http.MethodGet, auth.Identity{}),
	} {
		if got.Code != http.StatusOK {
			t.Errorf("%s: got %d", what, got.Code)
		}
	}
	for range 1000 {
		if w := ask(http.MethodGet, auth.Identity{Principal: "replica/q2", Method: auth.ByCertificate}); w.Code != http.StatusOK {
			t.Fatalf("a process of the cluster: got %d", w.Code)
		}
	}
	now = now.Add(time.Second)
	for i := range 100 {
		if w := ask(http.MethodGet, alice); w.Code != http.StatusOK {
			t.Fatalf("read %d of the next second: got %d", i, w.Code)
		}
	}
	if w := ask(http.MethodGet, alice); w.Code != http.StatusTooManyRequests {
		t.Errorf("more than a second allows: got %d", w.Code)
	}
}

func TestQuietClientsAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	l := newLimiter(func() time.Time { return now }, changesPerSecond, changesAtOnce)
	for i := range maxClients {
		l.wait(fmt.Sprint(i))
	}
	now = now.Add(time.Minute)
	l.wait("one more")
	if len(l.clients) != 1 {
		t.Errorf("%d clients are remembered", len(l.clients))
	}
}

// A machine with IPv6 usually has a network of 64 bits for itself. It must not count as more than one client.
func TestAnAddressIsOneClient(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:1":             "192.0.2.7",
		"[::ffff:192.0.2.7]:1":    "192.0.2.7",
		"[2001:db8:1:2:3::4]:1":   "2001:db8:1:2::/64",
		"[2001:db8:1:2:ff::9]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:3::4]:1":     "2001:db8:1:3::/64",
		"[fe80::1%eth0]:1":        "fe80::/64",
		"[::1]:1":                 "::/64",
		"socket":                  "socket",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if r.RemoteAddr = address; clientOf(r) != want {
			t.Errorf("%s: got %s, want %s", address, clientOf(r), want)
		}
	}
	f := &refusals{now: time.Now, clients: map[string]*refusedClient{}}
	for i := range refusalsAtOnce {
		f.next(fmt.Sprintf("2001:db8:1:2::%x", i))
	}
	if _, line := f.next("2001:db8:1:2:ffff::"); line {
		t.Error("another address of the same network has lines of its own in the log")
	}
}
