package node

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link stands between a node and etcd, and can be cut: connections stay open, and nothing passes.
type link struct {
	listener net.Listener
	target   string
	held     atomic.Int64 // what found the cut: proof that it bit
	wg       sync.WaitGroup

	mu    sync.Mutex
	whole chan struct{} // guarded by mu: closed while the link is whole
	conns []net.Conn    // guarded by mu
	ctx   context.Context
	end   context.CancelFunc
}

func newLink(t *testing.T, endpoint string) *link {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{target: u.Host, whole: make(chan struct{})}
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

func (l *link) endpoint() string { return "http://" + l.listener.Addr().String() }

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

func (l *link) accept() {
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

func (l *link) pass(to, from net.Conn) {
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

// readyz is what the probe of a process says.
func (r *running) readyz(t testing.TB) (text string, ready bool) {
	t.Helper()
	resp, err := http.Get(r.Servers()[0] + "/readyz?verbose")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.StatusCode == http.StatusOK
}

// Whoever cannot hear of what happens says so within a minute, each check by its name, and is ready again afterwards.
func TestASilentNetworkIsNotReady(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	for name, tc := range map[string]struct {
		role   Role
		checks []string
	}{
		"replica": {Replica, []string{"store", "watch", "orders"}},
		"worker":  {WorkerOnly, []string{"store", "presence", "orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLink(t, endpoint)
			set := outside(t, name, l.endpoint())
			set.Etcd.Prefix = "/" + name
			r := start(t, Config{Role: tc.role, Settings: set, Version: version})
			text, _ := r.readyz(t)
			for _, check := range tc.checks {
				if !strings.Contains(text, "[+]"+check+" ok") {
					t.Errorf("before: %s is not ok:\n%s", check, text)
				}
			}
			l.cut()
			began := time.Now()
			for missing := tc.checks; len(missing) > 0; time.Sleep(200 * time.Millisecond) {
				var ready bool
				if text, ready = r.readyz(t); !ready && strings.Contains(text, "[-]"+missing[0]+" failed: ") {
					missing = missing[1:]
				}
				if time.Since(began) > time.Minute {
					t.Fatalf("%s is still ok after a minute:\n%s", missing[0], text)
				}
			}
			if l.held.Load() == 0 {
				t.Error("the cut did not bite")
			}
			l.heal()
			eventually(t, "it is ready again", func() bool { _, ready := r.readyz(t); return ready })
		})
	}
}
