package api

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// changesPerSecond and changesAtOnce limit the changes of one client. The limits are far above the needs of a person or a
	// program. They are far below a rate that would fill the store within minutes.
	changesPerSecond = 500
	changesAtOnce    = 2000
	// signInsPerSecond and signInsAtOnce limit the sessions, and the codes for sessions, of one principal. The store keeps each of
	// them under a lease of its own, for half an hour without use.
	signInsPerSecond = 1
	signInsAtOnce    = 60
	// readSeconds is for how many seconds a quiet client may save its reads, and then send them at once.
	readSeconds = 4
	// maxClients is how many clients the limiter remembers. If there are more, it forgets clients that have been quiet.
	maxClients = 10_000
)

// limiter limits the rate of requests of each client. A client is the authenticated principal of a request, or its address.
type limiter struct {
	now       func() time.Time
	perSecond int
	atOnce    int

	mu      sync.Mutex
	clients map[string]*rate.Limiter // guarded by mu
}

func newLimiter(now func() time.Time, perSecond, atOnce int) *limiter {
	return &limiter{now: now, perSecond: perSecond, atOnce: atOnce, clients: map[string]*rate.Limiter{}}
}

// limited answers 429 with Retry-After to a client that sends changes too fast.
func (s *Server) limited(next http.Handler) http.Handler {
	l := newLimiter(s.now, changesPerSecond, changesAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reads(r) || s.pass(w, r, l, "changes") {
			next.ServeHTTP(w, r)
		}
	})
}

// readsLimited does the same for reads, also of pages. Probes have no limit. The other processes of the cluster have none either,
// because they ask for many clients.
func (s *Server) readsLimited(next http.Handler) http.Handler {
	if s.cfg.Reads == 0 {
		return next
	}
	l := newLimiter(s.now, s.cfg.Reads, readSeconds*s.cfg.Reads)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !reads(r) || isProbe(r.URL.Path) || proven(r.Context()).Peer() || s.pass(w, r, l, "reads") {
			next.ServeHTTP(w, r)
		}
	})
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// pass reports whether a request is within the limit of its client. Otherwise it answers 429.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, l *limiter, what string) bool {
	wait := l.wait(clientOf(r))
	if wait == 0 {
		return true
	}
	s.refused(RefusedRate)
	s.slowDown(r)
	w.Header().Set("Retry-After", seconds(wait))
	w.Header().Set("Cache-Control", "no-store")
	s.leaveBody(w, r)
	writeProblem(w, http.StatusTooManyRequests, fmt.Sprintf("this client asks for more than %d %s a second", l.perSecond, what))
	return false
}

// seconds returns a value of Retry-After.
func seconds(wait time.Duration) string { return strconv.Itoa(int(math.Ceil(wait.Seconds()))) }

// clientOf returns the client of a request, for limits.
func clientOf(r *http.Request) string {
	if c := proven(r.Context()); !c.Anonymous() {
		return c.Principal
	}
	return networkOf(hostOf(r))
}

// networkOf returns the address that counts as one client. An IPv6 address counts with its network of 64 bits, because a machine
// can have any address of it.
func networkOf(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr = addr.Unmap(); addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
}

// wait returns how long a client must wait before its next request; 0 if it need not wait.
func (l *limiter) wait(client string) time.Duration {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.clients[client]
	if bucket == nil {
		if len(l.clients) >= maxClients {
			l.forgetLocked(now)
		}
		bucket = rate.NewLimiter(rate.Limit(l.perSecond), l.atOnce)
		l.clients[client] = bucket
	}
	if bucket.AllowN(now, 1) {
		return 0
	}
	return time.Duration(float64(time.Second) * (1 - bucket.TokensAt(now)) / float64(l.perSecond))
}

// forgetLocked forgets clients whose buckets are full. If no bucket is full, it forgets all clients.
func (l *limiter) forgetLocked(now time.Time) {
	for client, bucket := range l.clients {
		if bucket.TokensAt(now) >= float64(l.atOnce) {
			delete(l.clients, client)
		}
	}
	if len(l.clients) >= maxClients {
		clear(l.clients)
	}
}
