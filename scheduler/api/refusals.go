package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"
)

// The lines about refusals that one client can make the log grow by. The others are counted.
const (
	refusalsPerSecond = 2
	refusalsAtOnce    = 50
	maxRefused        = 10_000 // clients that are remembered
)

// refusals logs refused proofs of identity. A client cannot fill the disk with them.
type refusals struct {
	now func() time.Time

	mu      sync.Mutex
	clients map[string]*refusedClient // guarded by mu: by networkOf
}

type refusedClient struct {
	lines   *rate.Limiter
	skipped int // refusals since the last line
}

// next returns whether a refusal of a client gets a line, and how many refusals of it had none since the last one. host is the
// address of the client, without its port.
func (f *refusals) next(host string) (skipped int, line bool) {
	now, host := f.now(), networkOf(host)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[host]
	if c == nil {
		if len(f.clients) >= maxRefused {
			clear(f.clients)
		}
		c = &refusedClient{lines: rate.NewLimiter(refusalsPerSecond, refusalsAtOnce)}
		f.clients[host] = c
	}
	if !c.lines.AllowN(now, 1) {
		c.skipped++
		return 0, false
	}
	skipped, c.skipped = c.skipped, 0
	return skipped, true
}

// The reasons of refused requests, as Config.Refused gets them.
const (
	RefusedIdentity = "identity" // a wrong proof of identity; the request then continues as an anonymous one
	RefusedNobody   = "nobody"   // no proof of identity
	RefusedRight    = "right"    // the caller lacks the right
	RefusedHost     = "host"     // the header Host has a foreign name
	RefusedOrigin   = "origin"   // a page of another site
	RefusedRate     = "rate"     // too many changes, reads or sign-ins by one client
	RefusedBusy     = "busy"     // too many requests at once, or connections
)

// refused counts a refused request.
func (s *Server) refused(reason string) {
	if s.cfg.Refused != nil {
		s.cfg.Refused(reason)
	}
}

// countRefusal counts a request that was refused with a status for lack of a right.
func (s *Server) countRefusal(status int) {
	if status == http.StatusUnauthorized {
		s.refused(RefusedNobody)
		return
	}
	s.refused(RefusedRight)
}

// logRefusal counts a refused proof of identity, and logs it unless its client has had many lines.
func (s *Server) logRefusal(r *http.Request, message string, err error) {
	s.refused(RefusedIdentity)
	s.logWithin(r, message, err)
}

// logWithin logs an error unless the client of the request has had many lines.
func (s *Server) logWithin(r *http.Request, message string, err error) {
	if skipped, line := s.refusals.next(hostOf(r)); line {
		s.log.Warn(message, "err", err, "remote", r.RemoteAddr, "path", r.URL.Path, "skipped", skipped)
	}
}

// whoAreYou is the reason of a 401 answer.
const whoAreYou = "say who you are: send a token as Authorization: Bearer, or a client certificate"

// strangerProblem is the body of a 401 answer.
var strangerProblem = sync.OnceValue(func() []byte {
	text, err := json.Marshal(huma.NewError(http.StatusUnauthorized, whoAreYou))
	if err != nil {
		panic(err) // the value is a constant
	}
	return append(text, '\n')
})

// crossOrigin finds changes that come from a page of another site.
var crossOrigin = http.NewCrossOriginProtection()

// needsProof reports whether the operation that a request asks for needs a right. It returns false for a page of another site,
// which gets another answer.
func (s *Server) needsProof(r *http.Request) bool {
	if s.cfg.Observe || !strings.HasPrefix(r.URL.Path, "/v1/") || crossOrigin.Check(r) != nil {
		return false
	}
	_, pattern := s.v1.Handler(r)
	return s.closed[pattern]
}

// uncheckedProof is the reason of a 503 answer to a client whose proof may be valid.
const uncheckedProof = "this replica cannot check who you are at present: try again, or ask another replica"

// refuseStranger answers a request of an anonymous caller. unchecked reports whether its proof may be valid.
func (s *Server) refuseStranger(w http.ResponseWriter, r *http.Request, unchecked bool) {
	s.refused(RefusedNobody)
	s.slowDown(r)
	s.leaveBody(w, r)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if unchecked {
		h.Set("Retry-After", retryAfter)
		writeProblem(w, http.StatusServiceUnavailable, uncheckedProof)
		return
	}
	h.Set("WWW-Authenticate", challenge)
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(strangerProblem()) // the client may be gone
}
