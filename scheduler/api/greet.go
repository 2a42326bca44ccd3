package api

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// greeter limits the TLS handshakes that compute at the same time. A handshake takes some milliseconds of a processor. Without a
// bound, a thousand of them would keep the leases and the dispatch of runs waiting.
type greeter struct {
	places   chan struct{} // holds a token for each handshake that computes
	patience time.Duration // for a place
}

func newGreeter(patience time.Duration) *greeter {
	return &greeter{make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), patience}
}

// greetings is a listener whose connections belong to a greeter.
type greetings struct {
	net.Listener

	by *greeter
}

// Accept implements net.Listener.
func (g greetings) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &greeted{Conn: conn, by: g.by}, nil
}

// greeted is a connection of a listener of a greeter.
type greeted struct {
	net.Conn

	by    *greeter
	holds atomic.Bool // a place
}

var errGreetings = errors.New("too many connections begin at the same time")

// config returns the configuration for a server on such a listener. Its handshakes compute between the first message of the client
// and the answer to it.
func (g *greeter) config(cfg *tls.Config) *tls.Config {
	next := cfg.GetConfigForClient
	cfg = cfg.Clone()
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c, ok := hello.Conn.(*greeted); ok && !c.enter() {
			return nil, errGreetings
		}
		if next == nil {
			return nil, nil
		}
		return next(hello)
	}
	return cfg
}

// enter waits for a place. It returns false if there is none for long.
func (c *greeted) enter() bool {
	timer := time.NewTimer(c.by.patience)
	defer timer.Stop()
	select {
	case c.by.places <- struct{}{}:
		c.holds.Store(true)
		return true
	case <-timer.C:
		return false
	}
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
	c.leave()
	return c.Conn.Close()
}
