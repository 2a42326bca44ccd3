package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
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

func TestQuietClientsAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	l := newLimiter(func() time.Time { return now })
	for i := range maxClients {
		l.wait(fmt.Sprint(i))
	}
	now = now.Add(time.Minute)
	l.wait("one more")
	if len(l.clients) != 1 {
		t.Errorf("%d clients are remembered", len(l.clients))
	}
}
