package api

import (
	"fmt"
	"math"
	"net"
	"net/http"
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
	// maxClients is how many clients the limiter remembers. If there are more, it forgets clients that have been quiet.
	maxClients = 10_000
)

// limiter limits the rate of changes of each client. A client is the authenticated principal of a request, or its address.
type limiter struct {
	now func() time.Time

	mu      sync.Mutex
	clients map[string]*rate.Limiter // guarded by mu
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{now: now, clients: map[string]*rate.Limiter{}}
}

// limited answers 429 with Retry-After to a client that sends changes too fast. Other parts limit reads.
func (s *Server) limited(next http.Handler) http.Handler {
	l := newLimiter(s.now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		if wait := l.wait(clientOf(r)); wait > 0 {
			s.refused(RefusedRate)
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			s.leaveBody(w, r)
			writeProblem(w, http.StatusTooManyRequests, fmt.Sprintf("this client asks for more than %d changes a second", changesPerSecond))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func clientOf(r *http.Request) string {
	if c := proven(r.Context()); !c.Anonymous() {
		return c.Principal
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// wait returns how long a client must wait before its next change; 0 if it need not wait.
func (l *limiter) wait(client string) time.Duration {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.clients[client]
	if bucket == nil {
		if len(l.clients) >= maxClients {
			l.forgetLocked(now)
		}
		bucket = rate.NewLimiter(changesPerSecond, changesAtOnce)
		l.clients[client] = bucket
	}
	if bucket.AllowN(now, 1) {
		return 0
	}
	return time.Duration(float64(time.Second) * (1 - bucket.TokensAt(now)) / changesPerSecond)
}

// forgetLocked forgets clients whose buckets are full. If no bucket is full, it forgets all clients.
func (l *limiter) forgetLocked(now time.Time) {
	for client, bucket := range l.clients {
		if bucket.TokensAt(now) >= changesAtOnce {
			delete(l.clients, client)
		}
	}
	if len(l.clients) >= maxClients {
		clear(l.clients)
	}
}
