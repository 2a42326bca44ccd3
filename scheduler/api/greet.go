package api

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// greeter limits the TLS handshakes that compute at the same time. A handshake takes some milliseconds of a processor. Without a
// bound, a thousand of them would keep the leases and the dispatch of runs waiting.
type greeter struct {
	places   chan struct{} // holds a token for each handshake that computes
	queue    chan struct{} // holds a token for each handshake that waits for a place
	patience time.Duration // for a place
}

func newGreeter(places int, patience time.Duration) *greeter {
	return &greeter{make(chan struct{}, places), make(chan struct{}, 8*places), patience}
}

// greetings is a listener whose connections belong to a greeter.
type greetings struct {
	net.Listener

	by *greeter
}

// Accept implements net.Listener. While the queue is full, it lets further connections wait in the kernel, for up to a second.
// Otherwise there would soon be too many, and the oldest ones would be closed before their turn.
func (g greetings) Accept() (net.Conn, error) {
	select {
	case g.by.queue <- struct{}{}:
		<-g.by.queue
	case <-time.After(time.Second):
	}
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newGreeted(conn, g.by), nil
}

// greeted is a connection of a listener of a greeter.
type greeted struct {
	net.Conn

	by    *greeter
	holds atomic.Bool   // a place
	gone  chan struct{} // closed by Close
	close func()        // closes gone once
}

func newGreeted(conn net.Conn, by *greeter) *greeted {
	gone := make(chan struct{})
	return &greeted{Conn: conn, by: by, gone: gone, close: sync.OnceFunc(func() { close(gone) })}
}

var errGreetings = errors.New("too many connections begin at the same time")

// config returns the configuration for a server on such a listener. Its handshakes compute between the first message of the client
// and the answer to it.
func (g *greeter) config(cfg *tls.Config) *tls.Config {
	next := cfg.GetConfigForClient
	cfg = signing(cfg)
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if !mayCompute(hello) {
			return nil, errGreetings
		}
		if next == nil {
			return nil, nil
		}
		other, err := next(hello)
		if other != nil {
			other = signing(other)
		}
		return other, err
	}
	return cfg
}

// signing returns cfg for handshakes that have a place when they sign. A client can make the server ask for another first message
// (HelloRetryRequest). The handshake has given its place up then, and waits for another one.
func signing(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	if certificate := cfg.GetCertificate; certificate != nil {
		cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !mayCompute(hello) {
				return nil, errGreetings
			}
			return certificate(hello)
		}
	}
	return cfg
}

// mayCompute reports whether the handshake of a client has a place, or gets one in time.
func mayCompute(hello *tls.ClientHelloInfo) bool {
	c, ok := hello.Conn.(*greeted)
	return !ok || c.holds.Load() || c.enter()
}

// enter waits for a place. It returns false if there is none for long, or if the connection is closed to make room for others.
func (c *greeted) enter() bool {
	patience := time.After(c.by.patience)
	take := func(token chan<- struct{}) bool {
		select {
		case token <- struct{}{}:
			return true
		case <-c.gone:
		case <-patience:
		}
		return false
	}
	if !take(c.by.queue) {
		return false
	}
	defer func() { <-c.by.queue }()
	if !take(c.by.places) {
		return false
	}
	c.holds.Store(true)
	select {
	case <-c.gone: // maybe before holds was set
		c.leave()
	default:
	}
	return c.holds.Load()
}

func (c *greeted) leave() {
	if c.holds.Load() && c.holds.Swap(false) {
		<-c.by.places
	}
}

// Write implements net.Conn. The answer to a client is written when it is complete.
func (c *greeted) Write(b []byte) (int, error) {
	c.leave()
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *greeted) Close() error {
	c.close()
	c.leave()
	return c.Conn.Close()
}
