package network

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP link that can be slow, or half open: connections stay and carry nothing.
type Proxy struct {
	Port int

	to string
	ln net.Listener
	wg sync.WaitGroup

	mu     sync.Mutex
	conns  map[*carrier]bool // guarded by mu: open connections
	deaf   bool              // guarded by mu: new connections carry nothing either
	delay  time.Duration     // guarded by mu
	closed bool              // guarded by mu
}

// carrier is one connection through a proxy.
type carrier struct {
	near, far net.Conn
	pass      chan struct{} // guarded by the proxy's mu: closed while the connection carries data
	held      int           // guarded by the proxy's mu: number of delayed pieces of data
}

// NewProxy starts a proxy at an address of the test. It ends with the test.
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

// URL returns the address of the proxy.
func (p *Proxy) URL() string { return fmt.Sprintf("http://%s", p.ln.Addr()) }

// Hold makes the open connections carry nothing from now on, and also new ones if comingToo. It returns the number of open
// ones.
func (p *Proxy) Hold(comingToo bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = comingToo
	for c := range p.conns {
		select {
		case <-c.pass:
			c.pass = make(chan struct{})
		default: // carries nothing already
		}
	}
	return len(p.conns)
}

// Release makes all connections carry data again, first the delayed data. It returns the number of delayed pieces.
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

// Break closes all connections and discards their delayed data; new ones carry data. It returns the number of discarded pieces.
func (p *Proxy) Break() (held int) {
	p.closeAll()
	return p.Release() // these pieces are discarded
}

// Delay adds a delay of d in each direction.
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

// piece is data under way, which arrives at due.
type piece struct {
	data []byte
	due  time.Time
}

// pump carries data in one direction until either side closes. Delayed pieces keep their order and do not delay each other:
// many are under way at a time.
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
		for range way { // the sender ends because from is closed
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

// awaitPass returns when the connection carries data.
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
	p.closeAll()
	p.wg.Wait()
}

// closeAll closes the connections on both sides.
func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.near.Close()
		c.far.Close()
	}
}
