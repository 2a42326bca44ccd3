package httpx

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// discardUnsent returns r with a context of its own. When the context of r ends, bytes that were not sent yet are discarded. A
// response that has arrived by then can still be read. The caller must call release after it has read the response.
//
// net/http by itself only closes the connection, and the kernel continues to send the bytes that it has accepted. During a
// network partition such a request would wait in the kernel, and arrive after the request of the next attempt.
//
// The connection is noted in c. arrival is how long a response may take to be read after the context of r has ended.
func discardUnsent(r *http.Request, arrival time.Duration) (_ *http.Request, c *connection, release func()) {
	ctx, c := r.Context(), new(connection)
	sending, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	read := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if c.stopSending() {
			select {
			case <-read:
			case <-time.After(arrival):
			}
		}
		c.discard() // before the transport closes the connection
		cancel(context.Cause(ctx))
		c.close()
	})
	release = func() {
		close(read)
		if !stop() {
			<-sending.Done()
		}
		cancel(nil)
	}
	got := func(info httptrace.GotConnInfo) { c.use(info.Conn) }
	return r.WithContext(httptrace.WithClientTrace(sending, &httptrace.ClientTrace{GotConn: got})), c, release
}

// connection is the connection of one request. It carries only this request at a time, since it speaks HTTP/1.1.
type connection struct {
	mu        sync.Mutex
	conn      net.Conn // guarded by mu; nil: the request has none yet
	discarded bool     // guarded by mu: no more bytes may be sent
}

// use notes conn as the connection of the request.
func (c *connection) use(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	if c.discarded {
		c.dropOnCloseLocked()
		_ = c.conn.Close() // without this, the transport might still write the request
	}
}

// stopSending lets nothing more be written to the connection. It reports whether the target has everything that was written before,
// so that a response may have arrived.
func (c *connection) stopSending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropOnCloseLocked() // first: a write that fails closes the connection
	return c.conn != nil && c.conn.SetWriteDeadline(time.Unix(1, 0)) == nil && acknowledged(c.conn)
}

// discard causes the kernel to discard the unsent bytes when the connection is closed.
func (c *connection) discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discarded = true
	c.dropOnCloseLocked()
}

// close keeps the connection from carrying another request. The transport has closed it, unless the response was read completely.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if plain := socket(c.conn); plain != nil {
		_ = plain.Close()
	}
}

// dropOnCloseLocked tells the kernel to discard unsent bytes when the connection is closed. c.mu is held.
func (c *connection) dropOnCloseLocked() {
	if plain := socket(c.conn); plain != nil {
		_ = plain.SetLinger(0) // fails if the connection is closed already
	}
}

// socket returns the connection below conn; nil if that is not one of TCP.
func socket(conn net.Conn) *net.TCPConn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	plain, _ := conn.(*net.TCPConn)
	return plain
}
