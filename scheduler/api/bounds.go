package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxLists is how many lists one process sends at the same time. A list may have tens of megabytes. It stays in memory until
	// the client has read it or is disconnected.
	maxLists = 8
	// listPatience is how long the request for a list waits for a free place.
	listPatience = 2 * time.Second
	// maxStreams is how many streams of events and output one process serves at the same time.
	maxStreams = 1000
	// maxPages is the same for the streams of open pages, which share their work.
	maxPages = 2000
	// clientStreams and clientPages are how many of these one client may have, so that others find a place.
	clientStreams = maxStreams / 4
	clientPages   = maxPages / 2
	// maxBodies is how many large bodies one process takes at the same time from callers that prove no identity, and clientBodies is
	// how many of these come from one address. Each stays in memory, for RequestTimeout if its client is slow.
	maxBodies    = 256
	clientBodies = maxBodies / 4
)

// places limits the answers of one kind that are sent at the same time.
type places struct {
	what     string        // the kind, for refusals
	free     chan struct{} // holds a token for each answer that is being sent
	client   int           // the largest number for one client; 0: no such limit
	patience time.Duration // for a place

	mu sync.Mutex
	of map[string]int // guarded by mu: the number for each client that has any
}

func newPlaces(what string, all, client int, patience time.Duration) *places {
	return &places{what: what, free: make(chan struct{}, all), client: client, patience: patience, of: map[string]int{}}
}

// bounded limits the lists and streams that are served at the same time, because they take much memory. Beyond the limits, it
// answers with Retry-After: 429 if the client has too many itself, and 503 if all clients together have. All other requests pass.
func (s *Server) bounded(next http.Handler) http.Handler {
	lists := newPlaces("lists", maxLists, 0, listPatience)
	streams := newPlaces("streams", maxStreams, clientStreams, 0)
	pages := newPlaces("open pages", maxPages, clientPages, 0)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p *places
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead: // the operations of GET also answer HEAD
		case isList(r.URL.Path):
			p = lists
		case r.URL.Path == "/v1/live":
			p = pages
		case isStream(r.URL.Path):
			p = streams
		}
		if p == nil {
			next.ServeHTTP(w, r)
			return
		}
		if leave, ok := s.occupy(w, r, p); ok {
			defer leave()
			next.ServeHTTP(w, r)
		}
	})
}

// occupy takes a place for a request, until leave. ok is false if there is none; then the request has its answer.
func (s *Server) occupy(w http.ResponseWriter, r *http.Request, p *places) (leave func(), ok bool) {
	client := clientOf(r)
	if proven(r.Context()).Peer() {
		client = "" // it asks for many clients
	}
	if !p.enter(client) {
		s.tooMany(w, r, http.StatusTooManyRequests,
			fmt.Sprintf("this client has %d %s at this replica already: close some, or ask another replica", p.client, p.what))
		return nil, false
	}
	if !p.take(r) {
		p.leave(client)
		s.tooMany(w, r, http.StatusServiceUnavailable,
			fmt.Sprintf("this replica has %d %s already: try again, or ask another replica", cap(p.free), p.what))
		return nil, false
	}
	return func() { <-p.free; p.leave(client) }, true
}

// tooMany refuses a request beyond a bound.
func (s *Server) tooMany(w http.ResponseWriter, r *http.Request, status int, detail string) {
	s.refused(RefusedBusy)
	s.leaveBody(w, r)
	w.Header().Set("Retry-After", retryAfter)
	writeProblem(w, status, detail)
}

// isList reports whether the answer to a path may be long, or needs a walk over many records.
func isList(path string) bool {
	switch path {
	case "/v1/jobs", "/v1/runs", "/v1/cluster", "/v1/limits", "/v1/workers", "/v1/tokens",
		"/v1/audit", "/v1/timeline", "/v1/incident", "/v1/gantt", "/v1/load", "/v1/backfills", "/v1/calendars":
		return true
	}
	return false
}

func isStream(path string) bool {
	return path == "/v1/events" || strings.HasPrefix(path, "/v1/runs/") && strings.HasSuffix(path, "/logs")
}

// enter counts an answer to a client. It returns false if the client has too many. "" stands for a client without a limit.
func (p *places) enter(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client > 0 && client != "" && p.of[client] >= p.client {
		return false
	}
	p.of[client]++
	return true
}

func (p *places) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[client]--; p.of[client] == 0 {
		delete(p.of, client)
	}
}

// take takes a place, and reports whether it got one. It waits for the patience at most, and only until the client disconnects.
func (p *places) take(r *http.Request) bool {
	select {
	case p.free <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case p.free <- struct{}{}:
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}
