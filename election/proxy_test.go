package election

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy forwards connections between a client and the server. As a black hole it keeps connections open and accepts new ones, but
// no byte passes either way. After it heals, the delayed bytes arrive.
type proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup
	held     atomic.Int64 // reads that the hole delayed: proof that the fault took effect

	mu     sync.Mutex // guards the fields below
	open   chan struct{}
	holed  bool
	conns  []net.Conn
	closed chan struct{}
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := &proxy{listener: listener, target: serverAddr(), open: make(chan struct{}), closed: make(chan struct{})}
	close(p.open)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// hole stops both directions.
func (p *proxy) hole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.holed {
		p.holed, p.open = true, make(chan struct{})
	}
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holed {
		p.holed = false
		close(p.open)
	}
}

// lose closes the connections and discards the delayed bytes.
func (p *proxy) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	close(p.closed)
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() {
			if !p.pass() {
				client.Close()
				return
			}
			upstream, err := net.Dial("tcp", p.target)
			if err != nil {
				client.Close()
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, upstream)
			select {
			case <-p.closed:
				client.Close()
				upstream.Close()
			default:
			}
			p.mu.Unlock()
			p.wg.Go(func() { p.copy(upstream, client) })
			p.copy(client, upstream)
		})
	}
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.pass() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the hole heals. It returns false when the proxy is closed.
func (p *proxy) pass() bool {
	p.mu.Lock()
	open, holed := p.open, p.holed
	p.mu.Unlock()
	if holed {
		p.held.Add(1)
	}
	select {
	case <-p.closed:
		return false
	case <-open:
		return true
	}
}
