package api

import (
	queue "container/list" // the package has a function named list
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// maxConnections is the largest number of connections of one process. If the process has few descriptors, the limit is lower.
const maxConnections = 4096

// maxConcurrent is how many requests one connection of HTTP/2 may have at the same time. A client that resets its requests makes
// the process keep five times as many.
const maxConcurrent = 100

// connections limits the number of connections. If there are too many, it closes the one that has been idle for longest. If none
// is idle, it closes the new one. A connection is idle until its client has sent a whole request, and after a handler has answered
// it. So clients cannot use up the descriptors that the worker and the store need, and probes still get an answer.
type connections struct {
	limit  int
	refuse func() // called for each connection that is closed because none is idle

	mu     sync.Mutex
	open   map[net.Conn]*link // guarded by mu
	idlers *queue.List        // guarded by mu: connections; the first one makes room first
}

// link is what connections knows of one connection.
type link struct {
	idler *queue.Element // in idlers; nil while the connection is busy
	busy  int            // requests that handlers work on
}

func newConnections(limit int, refuse func()) *connections {
	return &connections{limit: limit, refuse: refuse, open: map[net.Conn]*link{}, idlers: queue.New()}
}

// connectionLimit is a quarter of the descriptors that this process may have, and at most maxConnections.
func connectionLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	return max(16, int(min(files.Cur/4, maxConnections)))
}

// state is the ConnState of an http.Server.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(c.open) >= c.limit && !c.makeRoomLocked() {
			c.refuse()
			_ = conn.Close()
			return
		}
		c.open[conn] = &link{idler: c.idlers.PushBack(conn)}
	case http.StateClosed, http.StateHijacked:
		if l := c.open[conn]; l != nil && l.idler != nil {
			c.idlers.Remove(l.idler)
		}
		delete(c.open, conn)
	case http.StateActive, http.StateIdle: // begin and end say more: a body that never arrives keeps a connection active
	}
}

// makeRoomLocked closes the connection that has been idle for longest. It reports whether there was one.
func (c *connections) makeRoomLocked() bool {
	oldest := c.idlers.Front()
	if oldest == nil {
		return false
	}
	conn, _ := c.idlers.Remove(oldest).(net.Conn)
	delete(c.open, conn)
	if secure, ok := conn.(*tls.Conn); ok { // whose Close would write, to a client that may not read
		conn = secure.NetConn()
	}
	_ = conn.Close()
	return true
}

// begin counts a request of a connection, which is busy until end.
func (c *connections) begin(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.open[conn]
	if l == nil { // it was closed to make room
		return
	}
	if l.busy++; l.idler != nil {
		c.idlers.Remove(l.idler)
		l.idler = nil
	}
}

// end ends the request, or interrupts it until the next begin. If the connection has no other request, it becomes idle. It is the
// last one to make room for others, or the first one.
func (c *connections) end(conn net.Conn, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.open[conn]
	if l == nil {
		return
	}
	switch l.busy--; {
	case l.busy > 0:
	case first:
		l.idler = c.idlers.PushFront(conn)
	default:
		l.idler = c.idlers.PushBack(conn)
	}
}

type servedKey struct{}

// served is the connection of a request.
type served struct {
	conn net.Conn
	all  *connections
}

// withConn returns the ConnContext of an http.Server.
func withConn(all *connections) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(withPeer(ctx, conn), servedKey{}, served{conn, all})
	}
}

// busy makes the connection of a request busy while next works on it.
func busy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(servedKey{}).(served); ok {
			c.all.begin(c.conn)
			defer c.all.end(c.conn, false)
		}
		next.ServeHTTP(w, r)
	})
}

// interrupt makes the connection of a request idle until resume, while the request waits. first says whether the connection is the
// first one to make room for others.
func interrupt(r *http.Request, first bool) (resume func()) {
	c, ok := r.Context().Value(servedKey{}).(served)
	if !ok {
		return func() {}
	}
	c.all.end(c.conn, first)
	return func() { c.all.begin(c.conn) }
}
