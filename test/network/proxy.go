package network

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a link over TCP that can be slow, or half open: connections stay, and carry nothing.
type Proxy struct {
	Port int

	to string
	ln net.Listener
	wg sync.WaitGroup

	mu     sync.Mutex
	conns  map[*carrier]bool // guarded by mu: those that are open
	deaf   bool              // guarded by mu: connections to come are silent, too
	delay  time.Duration     // guarded by mu
	closed bool              // guarded by mu
}

// carrier is one connection through a proxy.
type carrier struct {
	near, far net.Conn
	pass      chan struct{} // guarded by the proxy's mu: closed while the connection carries, else it waits for that
	held      int           // guarded by the proxy's mu: pieces of data that were held back
}

// NewProxy starts a proxy at an address of the test's own, which ends with the test.
func NewProxy(t testing.TB, listen, to string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(listen, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Port: ln.Addr().(*net.TCPAddr).Port, to: to, ln: ln, conns: make(map[*carrier]bool)}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL is where the proxy listens.
func (p *Proxy) URL() string { return fmt.Sprintf("http://%s", p.ln.Addr()) }

// Hold has the connections that are open carry nothing from now on; with those to come, these neither. It returns how many
// are open.
func (p *Proxy) Hold(comingToo bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = comingToo
	for c := range p.conns {
		select {
		case <-c.pass:
			c.pass = make(chan struct{})
		default: // is held already
		}
	}
	return len(p.conns)
}

// Release has all connections carry again, beginning with what was held back. It returns how many pieces that is.
func (p *Proxy) Release() (held int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = false
	for c := range p.conns {
		held += c.held
		c.held = 0
		select {
		case <-c.pass:
		default:
			close(c.pass)
		}
	}
	return held
}

// Break ends all connections, with all that they hold back, and has those to come carry.
func (p *Proxy) Break() (held int) {
	p.mu.Lock()
	for c := range p.conns {
		c.near.Close()
		c.far.Close()
	}
	p.mu.Unlock()
	return p.Release() // of which nothing arrives
}

// Delay has everything take d longer, each way.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *Proxy) accept() {
	for {
		near, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.carry(near) })
	}
}

// carry serves one connection to its end.
func (p *Proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", p.to, 5*time.Second)
	if err != nil {
		return
	}
	defer far.Close()
	c := &carrier{near: near, far: far, pass: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	if !p.deaf {
		close(c.pass)
	}
	p.conns[c] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}()
	var wg sync.WaitGroup
	wg.Go(func() { p.pump(c, far, near) })
	p.pump(c, near, far)
	wg.Wait()
}

// piece is data on its way, which arrives when it is due.
type piece struct {
	data []byte
	due  time.Time
}

// pump carries data one way until either side closes. Delayed pieces overtake nothing and hold nothing up: many are on
// their way at a time.
func (p *Proxy) pump(c *carrier, to, from net.Conn) {
	way := make(chan piece, 1024)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer to.Close()
		defer from.Close()
		for piece := range way {
			// The proxy delays data; this is the delay.
			time.Sleep(time.Until(piece.due))
			p.awaitPass(c)
			if _, err := to.Write(piece.data); err != nil {
				break
			}
		}
		for range way { // whoever fills it ends, since from is closed
		}
	})
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			due := time.Now().Add(p.delay)
			p.mu.Unlock()
			way <- piece{buf[:n], due}
		}
		if err != nil {
			break
		}
	}
	close(way)
	wg.Wait()
}

// awaitPass returns when the connection carries.
func (p *Proxy) awaitPass(c *carrier) {
	p.mu.Lock()
	pass := c.pass
	select {
	case <-pass:
	default:
		c.held++
	}
	p.mu.Unlock()
	<-pass
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ln.Close()
	p.Release()
	p.mu.Lock()
	for c := range p.conns {
		c.near.Close()
		c.far.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
