package httpx

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// discardUnsent returns r with a context of its own. When the context of r ends, bytes that were not sent yet are discarded.
// The caller must call release after it has read the response.
//
// net/http by itself only closes the connection, and the kernel continues to send the bytes that it has accepted. During a
// network partition such a request would wait in the kernel, and arrive after the request of the next attempt.
func discardUnsent(r *http.Request) (_ *http.Request, release func()) {
	ctx, c := r.Context(), new(connection)
	sending, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		c.discard() // before the transport closes the connection
		cancel(context.Cause(ctx))
	})
	release = func() {
		if !stop() {
			<-sending.Done()
		}
		cancel(nil)
	}
	return r.WithContext(httptrace.WithClientTrace(sending, &httptrace.ClientTrace{GotConn: c.got})), release
}

// connection is the connection of one request. It carries only this request at a time, since it speaks HTTP/1.1.
type connection struct {
	mu        sync.Mutex
	conn      net.Conn // guarded by mu; nil: the request has none yet
	discarded bool     // guarded by mu: no more bytes may be sent
}

// got receives the connection that the transport has chosen.
func (c *connection) got(info httptrace.GotConnInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = info.Conn
	if c.discarded {
		c.dropOnCloseLocked()
		_ = c.conn.Close() // without this, the transport might still write the request
	}
}

// discard causes the kernel to discard the unsent bytes when the connection is closed.
func (c *connection) discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discarded = true
	c.dropOnCloseLocked()
}

// dropOnCloseLocked tells the kernel to discard unsent bytes when the connection is closed. c.mu is held.
func (c *connection) dropOnCloseLocked() {
	conn := c.conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if plain, ok := conn.(*net.TCPConn); ok {
		_ = plain.SetLinger(0) // fails if the connection is closed already
	}
}
