package api

import (
	"net"
	"net/http"
	"sync"
	"time"

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
	clients map[string]*refusedClient // guarded by mu: by address without port
}

type refusedClient struct {
	lines   *rate.Limiter
	skipped int // refusals since the last line
}

// next returns whether a refusal of a request gets a line, and how many refusals of its client had none since the last one.
func (f *refusals) next(r *http.Request) (skipped int, line bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	now := f.now()
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
	RefusedRate     = "rate"     // too many changes by one client
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
	if skipped, line := s.refusals.next(r); line {
		s.log.Warn(message, "err", err, "remote", r.RemoteAddr, "path", r.URL.Path, "skipped", skipped)
	}
}
