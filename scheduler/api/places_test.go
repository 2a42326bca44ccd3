package api

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// One client must not take the places of all others.
func TestStreamsAreLimitedByClient(t *testing.T) {
	refused := 0
	cfg := DefaultConfig()
	cfg.Refused = func(reason string) {
		if reason == RefusedBusy {
			refused++
		}
	}
	s := New(cfg, Backend{}, hclog.NewNullLogger())
	began, end := make(chan struct{}), make(chan struct{})
	handler := s.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-end
	}))
	var open sync.WaitGroup
	ask := func(path, address string, c auth.Caller, held bool) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), provenKey{}, c), http.MethodGet, path, nil)
		r.RemoteAddr = address + ":1234"
		w := httptest.NewRecorder()
		if !held {
			handler.ServeHTTP(w, r)
			return w
		}
		open.Go(func() { handler.ServeHTTP(w, r) })
		<-began
		return w
	}
	nobody, peer := auth.Caller{}, auth.Caller{Identity: auth.Identity{Principal: "replica/q1", Method: auth.ByCertificate}}
	for range clientStreams {
		ask("/v1/events", "10.0.0.1", nobody, true)
	}
	if w := ask("/v1/runs/a/1/logs", "10.0.0.1", nobody, false); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || refused != 1 {
		t.Errorf("one stream more: got %d, %v, counted %d; want 429 with Retry-After", w.Code, w.Header(), refused)
	}
	head := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), provenKey{}, nobody), http.MethodHead, "/v1/events", nil)
	r.RemoteAddr = "10.0.0.1:1"
	if handler.ServeHTTP(head, r); head.Code != http.StatusTooManyRequests {
		t.Errorf("a stream of HEAD more: got %d, want 429", head.Code)
	}
	ask("/v1/events", "10.0.0.2", nobody, true) // another client
	for range clientStreams + 1 {               // a process of the cluster asks for many clients
		ask("/v1/events", "10.0.0.3", peer, true)
	}
	close(end)
	open.Wait()
	end = make(chan struct{})
	ask("/v1/events", "10.0.0.1", nobody, true)
	close(end)
	open.Wait()
}

// Anybody can send a body to a hook or to the form of a sign-in, and each caller can send one to an operation that it may not
// perform. Nobody must fill the memory with bodies that never end.
func TestLargeBodiesAreLimited(t *testing.T) {
	s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
	began, end := make(chan struct{}), make(chan struct{})
	handler := s.bounded(s.takeBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "held" {
			began <- struct{}{}
			<-end
		}
	})))
	var open sync.WaitGroup
	ask := func(address string, c auth.Caller, size int, held bool) *httptest.ResponseRecorder {
		ctx := context.WithValue(t.Context(), provenKey{}, c)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/hooks/deployed", strings.NewReader(strings.Repeat("x", size)))
		r.RemoteAddr = address + ":1234"
		w := httptest.NewRecorder()
		if !held {
			handler.ServeHTTP(w, r)
			return w
		}
		r.URL.RawQuery = "held"
		open.Go(func() { handler.ServeHTTP(w, r) })
		<-began
		return w
	}
	nobody, alice, bob := auth.Caller{}, byToken("alice"), byToken("bob")
	for _, c := range []auth.Caller{nobody, alice} {
		for range clientBodies {
			ask("10.0.0.1", c, smallBody+1, true)
		}
		w := ask("10.0.0.1", c, smallBody+1, false)
		if h := w.Header(); w.Code != http.StatusTooManyRequests || h.Get("Retry-After") == "" || h.Get("Connection") != "close" {
			t.Errorf("one large body more of %s: got %d, %v, want 429 with Retry-After, and the end of the connection", c, w.Code, w.Header())
		}
		ask("10.0.0.1", c, smallBody, true)
	}
	ask("10.0.0.1", bob, smallBody+1, true)
	ask("10.0.0.2", nobody, smallBody+1, true)
	close(end)
	open.Wait()
	end = make(chan struct{})
	ask("10.0.0.1", nobody, smallBody+1, true)
	close(end)
	open.Wait()
}

func byToken(principal string) auth.Caller {
	return auth.Caller{Identity: auth.Identity{Principal: principal, Method: auth.ByToken}}
}

// Each request takes memory until its client has read the answer. With HTTP/2, a client needs few connections for many of them.
func TestRequestsAreLimited(t *testing.T) {
	nobody, alice := auth.Caller{}, byToken("alice")
	for _, c := range []struct {
		method, path string
		caller       auth.Caller
		places       int
		status       int // of one more
	}{
		{"GET", "/v1/runs/a/1", alice, clientRequests, 429},
		{"PUT", "/v1/jobs", alice, clientRequests, 429},
		{"POST", "/v1/hooks/deployed", nobody, clientRequests, 429},
		{"POST", "/login", nobody, clientRequests, 429},
		{"GET", "/login", nobody, clientRequests, 429},
		{"GET", "/jobs", alice, clientViews, 429},
		{"HEAD", "/jobs", alice, clientViews, 429},
		{"GET", "/livez", nobody, clientRequests, 429},
		{"GET", "/metrics", alice, maxScrapes, 503},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
				end := make(chan struct{})
				handler := s.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
				ask := func(address string) *httptest.ResponseRecorder {
					r := httptest.NewRequestWithContext(context.WithValue(t.Context(), provenKey{}, c.caller), c.method, c.path, nil)
					r.RemoteAddr = address + ":1234"
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					return w
				}
				var open sync.WaitGroup
				for range c.places {
					open.Go(func() { ask("10.0.0.1") })
				}
				synctest.Wait()
				if w := ask("10.0.0.1"); w.Code != c.status || w.Header().Get("Retry-After") == "" {
					t.Errorf("one request more: got %d, %v, want %d with Retry-After", w.Code, w.Header(), c.status)
				}
				if c.caller = byToken("bob"); c.status == http.StatusTooManyRequests {
					open.Go(func() {
						if w := ask("10.0.0.2"); w.Code != http.StatusOK {
							t.Errorf("a request of another client: got %d", w.Code)
						}
					})
					synctest.Wait()
				}
				close(end)
				open.Wait()
			})
		})
	}
}

// Each operation of GET whose path names no record may have a long answer, so it has a bound. Those without one are named here.
func TestLongAnswersAreBounded(t *testing.T) {
	short := map[string]bool{
		"/v1/login": true, "/v1/overview": true, // an overview needs no walk over records
		"/v1/find/jobs": true, // it has one page
	}
	s := New(DefaultConfig(), Backend{ // parts that only exist
		Replica: struct{ Replica }{}, Overview: struct{ Overviewer }{}, Trail: struct{ Trail }{}, Tokens: struct{ tokens }{},
		Schemas: map[string]json.RawMessage{"Spec": json.RawMessage("{}"), "LimitSpec": json.RawMessage("{}")},
	}, hclog.NewNullLogger())
	for pattern := range s.closed {
		path, isGet := strings.CutPrefix(pattern, "GET ")
		if !isGet || strings.Contains(path, "{") || path == "/v1/live" || isStream(path) || short[path] {
			continue
		}
		if !isList(path) {
			t.Errorf("%s has no bound", path)
		}
	}
	if len(s.closed) < 20 {
		t.Errorf("only %d operations are known", len(s.closed))
	}
}

// tokens is Tokens under a name that differs from its method.
type tokens = Tokens

func TestAConnectionWithoutRoomIsCounted(t *testing.T) {
	refused := 0
	c := newConnections(1, func() { refused++ })
	busy, late := pipe(t), pipe(t)
	c.state(busy, http.StateNew)
	c.begin(busy)
	c.state(late, http.StateNew)
	if _, err := late.Write([]byte("x")); err == nil || refused != 1 {
		t.Errorf("a connection beside a busy one: open %v, counted %d", err == nil, refused)
	}
}

// pipe returns one end of a connection.
func pipe(t *testing.T) net.Conn {
	t.Helper()
	one, other := net.Pipe()
	t.Cleanup(func() { _, _ = one.Close(), other.Close() })
	return one
}
