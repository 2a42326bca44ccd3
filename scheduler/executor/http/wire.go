package httpx

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// bound returns r such that what of it has not left this machine when its context ends never does. net/http by itself closes
// the connection, and the kernel goes on sending what it has taken: while the network is cut, a request whose attempt was given
// up would wait there, and arrive after that of the next attempt. release is to be called when the response has been read.
func bound(r *http.Request) (_ *http.Request, release func()) {
	ctx, w := r.Context(), new(wire)
	sending, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		w.cut() // before the transport closes the connection
		cancel(context.Cause(ctx))
	})
	release = func() {
		if !stop() {
			<-sending.Done()
		}
		cancel(nil)
	}
	return r.WithContext(httptrace.WithClientTrace(sending, &httptrace.ClientTrace{GotConn: w.got})), release
}

// wire is the connection that a request is sent over. It carries no other one meanwhile, since it speaks HTTP/1.1.
type wire struct {
	mu   sync.Mutex
	conn net.Conn // guarded by mu; nil: there is none yet
	over bool     // guarded by mu: nothing more is to leave
}

func (w *wire) got(info httptrace.GotConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = info.Conn
	if w.over {
		w.abandon()
		_ = w.conn.Close() // or else the request might still be written
	}
}

// cut has the connection's end throw away what has not left.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.abandon()
}

// abandon does that. w.mu is held.
func (w *wire) abandon() {
	conn := w.conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if plain, ok := conn.(*net.TCPConn); ok {
		_ = plain.SetLinger(0) // fails if it is closed already
	}
}
