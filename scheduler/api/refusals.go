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

// logRefusal logs a refused proof of identity, unless its client has had many lines.
func (s *Server) logRefusal(r *http.Request, message string, err error) {
	if skipped, line := s.refusals.next(r); line {
		s.log.Warn(message, "err", err, "remote", r.RemoteAddr, "path", r.URL.Path, "skipped", skipped)
	}
}
