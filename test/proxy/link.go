package proxy

import (
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Link is a TCP proxy that can be cut: connections stay open then, but no bytes pass.
type Link struct {
	listener net.Listener
	target   string
	held     atomic.Int64 // number of reads that the cut held back
	wg       sync.WaitGroup

	mu    sync.Mutex
	whole chan struct{} // guarded by mu: closed while the link is not cut
	conns []net.Conn    // guarded by mu
	ctx   context.Context
	end   context.CancelFunc
}

// NewLink starts a Link to the etcd at endpoint, until the test ends.
func NewLink(t testing.TB, endpoint string) *Link {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{target: u.Host, whole: make(chan struct{})}
	close(l.whole)
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		l.listener.Close()
		l.end()
		l.mu.Lock()
		for _, c := range l.conns {
			c.Close()
		}
		l.mu.Unlock()
		l.wg.Wait()
	})
	return l
}

// Endpoint returns the URL of the proxy.
func (l *Link) Endpoint() string { return "http://" + l.listener.Addr().String() }

// Cut holds back all bytes from now on.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

// Held returns the number of reads that the cut held back. If it is not zero, the cut took effect.
func (l *Link) Held() int64 { return l.held.Load() }

// Accepted returns the number of connections that the proxy has accepted.
func (l *Link) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) / 2 // each has two ends
}

// Heal lets all bytes pass again, also those that were held back.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

func (l *Link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.target)
		if err != nil {
			near.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		l.mu.Unlock()
		l.wg.Go(func() { l.pass(near, far) })
		l.wg.Go(func() { l.pass(far, near) })
	}
}

func (l *Link) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		whole := l.whole
		l.mu.Unlock()
		select {
		case <-whole:
		default:
			l.held.Add(1)
		}
		select {
		case <-whole:
		case <-l.ctx.Done():
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
