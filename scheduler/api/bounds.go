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
	// clientLists is how many of these go to one client. Further lists of the client wait, because most lists are short.
	clientLists = maxLists / 2
	// listPatience is how long the request for a list waits for a free place, or for the end of another list of its client.
	listPatience = 2 * time.Second
	// maxStreams is how many streams of events and output one process serves at the same time.
	maxStreams = 1000
	// maxPages is the same for the streams of open pages, which share their work.
	maxPages = 2000
	// clientStreams and clientPages are how many of these one client may have, so that others find a place.
	clientStreams = maxStreams / 4
	clientPages   = maxPages / 2
	// maxBodies is how many large bodies one process takes at the same time, and clientBodies is how many of these come from one
	// client. Each stays in memory, for RequestTimeout if its client is slow. If there is no place, the one that has been on its way
	// for longest makes room. Callers that prove no identity have places of their own.
	maxBodies    = 256
	clientBodies = maxBodies / 4
	// maxViews is how many pages for people one process makes at the same time. Each stays in memory until the client has read it.
	maxViews    = 512
	clientViews = maxViews / 4
	// maxRequests is how many other requests one process answers at the same time. One connection of HTTP/2 can send a hundred of
	// them. Callers that prove no identity have places of their own.
	maxRequests    = 2048
	clientRequests = maxRequests / 8
	// maxScrapes is how many answers with all metrics one process makes at the same time. Each has several rows for each job.
	maxScrapes = 2
	// maxArrivals is how many small bodies may be on their way at the same time.
	maxArrivals = 4096
)

// StaticPath begins the paths of the style and the script of the page. A page whose style is refused would stay without it.
const StaticPath = "/static/"

// places limits the answers of one kind that are sent at the same time.
type places struct {
	what     string        // the kind, for refusals
	free     chan struct{} // holds a token for each answer that is being sent
	client   int           // the largest number for one client; 0: no such limit
	patience time.Duration // for a place
	queues   bool          // a client that has too many waits too, instead of being refused at once

	mu sync.Mutex
	of map[string]*clientPlaces // guarded by mu: by client
}

// clientPlaces are the places of a client that has requests.
type clientPlaces struct {
	free     chan struct{} // holds a token for each answer to the client
	requests int           // guarded by places.mu: those that have a token or wait for one
}

func newPlaces(what string, all, client int, patience time.Duration) *places {
	return &places{what: what, free: make(chan struct{}, all), client: client, patience: patience, of: map[string]*clientPlaces{}}
}

// bounds has the places of all kinds of answers.
type bounds struct {
	lists, streams, pages, probes *places

	// Those of callers that prove no identity, and of all others.
	views, scrapes, bodies, requests [2]*places
	arrivals, large                  [2]*arrivals
}

func newBounds() *bounds {
	b := &bounds{
		lists:   newPlaces("lists", maxLists, clientLists, listPatience),
		streams: newPlaces("streams", maxStreams, clientStreams, 0),
		pages:   newPlaces("open pages", maxPages, clientPages, 0),
		probes:  newPlaces("probes", 1<<20, clientRequests, 0), // others never use them up: an unanswered probe restarts a process
	}
	b.lists.queues = true
	for i := range b.requests {
		b.views[i] = newPlaces("pages that are made", maxViews, clientViews, listPatience)
		b.scrapes[i] = newPlaces("scrapes of metrics", maxScrapes, 0, listPatience)
		b.bodies[i] = newPlaces("large bodies", maxBodies, clientBodies, listPatience)
		b.requests[i] = newPlaces("requests", maxRequests, clientRequests, listPatience)
		b.arrivals[i], b.large[i] = &arrivals{limit: maxArrivals}, &arrivals{limit: maxBodies}
	}
	return b
}

// of returns the places of a request.
func (b *bounds) of(r *http.Request) *places {
	path := r.URL.Path
	switch api := strings.HasPrefix(path, "/v1/"); {
	case !reads(r): // the operations of GET also answer HEAD
	case api && isList(path):
		return b.lists
	case path == "/v1/live":
		return b.pages
	case api && isStream(path):
		return b.streams
	case path == metricsPath:
		return b.scrapes[known(r)]
	case isProbe(path):
		return b.probes
	case !api && !strings.HasPrefix(path, loginPath) && !strings.HasPrefix(path, StaticPath):
		return b.views[known(r)]
	}
	return b.requests[known(r)]
}

// known returns 1 for a caller that has proven its identity, and 0 for a stranger.
func known(r *http.Request) int {
	if proven(r.Context()).Anonymous() {
		return 0
	}
	return 1
}

// bounded limits the requests that are served at the same time, because their answers and bodies take memory. Beyond the limits,
// it answers with Retry-After: 429 if the client has too many itself, and 503 if all clients together have. A read has no body that
// matters, so that it holds no place until a slow one has arrived. A small body holds a place of all clients only once it has
// arrived. Otherwise the slow bodies of a few clients would keep all others out.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reads(r) && r.Body != nil && r.Body != http.NoBody {
			s.leaveBody(w, r)
			r.Body = http.NoBody
		}
		p := s.bounds.of(r)
		end, ok := s.admit(w, r, p)
		if !ok {
			return
		}
		defer end()
		if !reads(r) && r.ContentLength > 0 && r.ContentLength <= smallBody && !s.receive(w, r, s.bounds.arrivals[known(r)]) {
			return
		}
		if leave, ok := s.place(w, r, p); ok {
			defer leave()
			next.ServeHTTP(w, r)
		}
	})
}

// admit counts a request of a client, until end. ok is false if the client has too many; then the request has its answer.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, p *places) (end func(), ok bool) {
	client := clientOf(r)
	if proven(r.Context()).Peer() {
		client = "" // it asks for many clients
	}
	if !p.enter(r, client) {
		s.tooMany(w, r, http.StatusTooManyRequests,
			fmt.Sprintf("this client has %d %s at this replica already: close some, or ask another replica", p.client, p.what))
		return nil, false
	}
	return func() { p.leave(client) }, true
}

// place takes a place of all clients, until leave. ok is false if there is none; then the request has its answer.
func (s *Server) place(w http.ResponseWriter, r *http.Request, p *places) (leave func(), ok bool) {
	if !take(r, p.free, p.patience) {
		s.tooMany(w, r, http.StatusServiceUnavailable,
			fmt.Sprintf("this replica has %d %s already: try again, or ask another replica", cap(p.free), p.what))
		return nil, false
	}
	return func() { <-p.free }, true
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

// enter counts an answer to a client. It returns false if the client has too many. "" stands for a client without a limit. If p
// queues, enter first waits for the patience at most, and only until the client disconnects.
func (p *places) enter(r *http.Request, client string) bool {
	if p.client == 0 || client == "" {
		return true
	}
	p.mu.Lock()
	c := p.of[client]
	if c == nil {
		c = &clientPlaces{free: make(chan struct{}, p.client)}
		p.of[client] = c
	}
	c.requests++
	p.mu.Unlock()
	var patience time.Duration
	if p.queues {
		patience = p.patience
	}
	if !take(r, c.free, patience) {
		p.forget(client)
		return false
	}
	return true
}

// leave ends what enter has counted.
func (p *places) leave(client string) {
	if p.client == 0 || client == "" {
		return
	}
	<-p.forget(client).free
}

// forget ends the count of a request of a client.
func (p *places) forget(client string) *clientPlaces {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.of[client]
	if c.requests--; c.requests == 0 {
		delete(p.of, client)
	}
	return c
}

// take takes a place, and reports whether it got one. It waits for the patience at most, and only until the client disconnects.
func take(r *http.Request, free chan struct{}, patience time.Duration) bool {
	select {
	case free <- struct{}{}:
		return true
	default:
	}
	if patience == 0 {
		return false
	}
	select {
	case free <- struct{}{}:
		return true
	case <-time.After(patience):
	case <-r.Context().Done():
	}
	return false
}
