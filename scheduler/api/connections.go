package api

import (
	queue "container/list" // the package has a function named list
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
// is idle, it closes the new one. So clients cannot use up the descriptors that the worker and the store need, and probes still
// get an answer.
type connections struct {
	limit  int
	refuse func() // called for each connection that is closed because none is idle

	mu     sync.Mutex
	open   map[net.Conn]*queue.Element // guarded by mu; maps an idle connection to its element in idlers, and a busy one to nil
	idlers *queue.List                 // guarded by mu; the longest idle first
}

func newConnections(limit int, refuse func()) *connections {
	return &connections{limit: limit, refuse: refuse, open: map[net.Conn]*queue.Element{}, idlers: queue.New()}
}

// connectionLimit is a quarter of the descriptors that this process may have, and at most maxConnections.
func connectionLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	return max(16, int(min(files.Cur/4, maxConnections)))
}

// state is the ConnState of an http.Server. A connection without a request counts as idle, even before its first request.
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if idler := c.open[conn]; idler != nil {
		c.idlers.Remove(idler)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		if state == http.StateNew && len(c.open) >= c.limit && !c.makeRoomLocked() {
			c.refuse()
			_ = conn.Close()
			return
		}
		c.open[conn] = c.idlers.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
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
	_ = conn.Close()
	return true
}

// pause counts a busy connection as idle, until resume. It is the first one to make room for others.
func (c *connections) pause(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if idler, known := c.open[conn]; known && idler == nil {
		c.open[conn] = c.idlers.PushFront(conn)
	}
}

// resume counts a connection as busy again, unless it was closed.
func (c *connections) resume(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if idler := c.open[conn]; idler != nil {
		c.idlers.Remove(idler)
		c.open[conn] = nil
	}
}
