package election

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// listener is a process that accepts connections.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func listen(t *testing.T) *listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: ln}
	l.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			l.mu.Lock()
			l.conns = append(l.conns, conn)
			l.mu.Unlock()
		}
	})
	t.Cleanup(l.die)
	return l
}

// hangUp breaks every connection and continues to listen.
func (l *listener) hangUp() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.conns)
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
	return n
}

// die closes all sockets, as the kernel does when a process is killed.
func (l *listener) die() {
	l.Close()
	l.wg.Wait()
	l.hangUp()
}

// witnessed starts a leader at an address, a candidate next in the queue, and a witness with the candidate. The leases outlast the
// test.
func witnessed(t *testing.T, signed ...string) (process *listener, leader, next *node, term heldTerm) {
	t.Helper()
	process = listen(t)
	client := dial(t)
	leader = start(t, client, Config{Name: "a", Addr: process.Addr().String(), TTL: longTTL}, false)
	term = leader.nextTerm(t)
	next = start(t, client, Config{Name: "b", TTL: longTTL}, false)
	for _, name := range signed {
		sign(t, client, name)
	}
	eventually(t, "b waits", func() bool { return next.Status().State == StateCandidate })
	w := NewWitness(WitnessConfig{
		Prefix: prefixOf(t), Name: "b", Limit: "/limit" + prefixOf(t),
		Signs: []string{"/signs" + prefixOf(t), "/work" + prefixOf(t)},
		LastSign: func(key string) string {
			if strings.HasPrefix(key, "/work") {
				return "over"
			}
			return ""
		},
	}, client, hclog.NewNullLogger())
	background(t, w.Run)
	eventually(t, "the witness holds a connection", func() bool {
		process.mu.Lock()
		defer process.mu.Unlock()
		return len(process.conns) > 0
	})
	return process, leader, next, term
}

func TestADeadLeaderIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	process, leader, next, term := witnessed(t, "a", "b")
	client := dial(t)
	process.die()
	got := next.nextTerm(t) // its lease lasts longer than the patience of the test
	if got.Rev <= term.Rev {
		t.Errorf("next term: got %d, want above %d", got.Rev, term.Rev)
	}
	for name, want := range map[string]int64{"a": 0, "b": 1} {
		if resp, err := client.Get(call(t), "/signs"+prefixOf(t)+name); err != nil || resp.Count != want {
			t.Errorf("signs of life of %s: got %v, %v, want %d", name, resp, err, want)
		}
	}
	resp, err := client.Get(call(t), "/work"+prefixOf(t)+"a")
	if err != nil || resp.Count != 1 || string(resp.Kvs[0].Value) != "over" || resp.Kvs[0].Lease == 0 {
		t.Errorf("the last sign of a: got %v, %v, want one on its lease", resp, err)
	}
	// In this test the proof is wrong: the old leader still runs. It must learn that its term is over.
	if cause := term.lost(t); cause == nil {
		t.Error("the old leader still leads")
	}
	eventually(t, "the old leader queues again", func() bool { return leader.Status().State == StateCandidate })
}

func TestTheSignsOfLifeOfALaterProcessStay(t *testing.T) {
	t.Parallel()
	process, _, next, _ := witnessed(t, "a")
	client := dial(t)
	sign(t, client, "a") // of a later process; the witness still has the signs of the first one
	process.die()
	next.nextTerm(t)
	if resp, err := client.Get(call(t), "/signs"+prefixOf(t)+"a"); err != nil || resp.Count != 1 {
		t.Errorf("got %v, %v, want one", resp, err)
	}
}

func TestALimitKeyWithoutALeaseBlocksNoTakeover(t *testing.T) {
	t.Parallel()
	process, _, next, _ := witnessed(t)
	client, limit := dial(t), "/limit"+prefixOf(t)
	if _, err := client.Put(call(t), limit, "by hand"); err != nil {
		t.Fatal(err)
	}
	process.die()
	next.nextTerm(t)
	if resp, err := client.Get(call(t), limit); err != nil || resp.Count != 1 || resp.Kvs[0].Lease == 0 {
		t.Errorf("got %v, %v, want a key with a lease in its place", resp, err)
	}
}

func TestADeathSoonAfterATakeoverIsNotLost(t *testing.T) {
	t.Parallel()
	process, _, next, term := witnessed(t)
	client := dial(t)
	earlier := forced(t, client, "/limit"+prefixOf(t))
	process.die()
	next.nextTerm(t) // after a few seconds; the lease of the leader lasts a minute
	if resp, err := client.TimeToLive(call(t), earlier); err != nil || resp.TTL >= 0 {
		t.Errorf("the lease of the earlier takeover: got %+v, %v, want it gone first", resp, err)
	}
	if term.lost(t) == nil {
		t.Error("the old leader still leads")
	}
}

func TestADelayedTakeoverChecksTheProcessAgain(t *testing.T) {
	t.Parallel()
	client := dial(t)
	term := start(t, client, Config{Name: "a", Addr: "nowhere:1", TTL: longTTL}, false).nextTerm(t)
	h, ok, err := Leader(call(t), client, prefixOf(t))
	if err != nil || !ok || h.Term.Rev != term.Rev {
		t.Fatalf("leader: got %+v, %v, %v", h, ok, err)
	}
	limit, asked := "/limit"+prefixOf(t), 0
	forced(t, client, limit)
	w := NewWitness(WitnessConfig{Prefix: prefixOf(t), Name: "b", Limit: limit, Answers: func(context.Context, string) bool {
		asked++
		return true // a later process listens, or the proof was wrong
	}}, client, hclog.NewNullLogger())
	w.endTerm(call(t), h, nil)
	if asked != 1 || term.ctx.Err() != nil {
		t.Errorf("checked %d times whether a process answers, want once; the term: %v, want it to stand", asked, context.Cause(term.ctx))
	}
	if resp, err := client.Get(call(t), limit); err != nil || resp.Count != 0 {
		t.Errorf("limit: got %v, %v, want it gone before the check", resp, err)
	}
}

// forced writes the limit key as a recent takeover does, and returns its lease.
func forced(t *testing.T, client *clientv3.Client, limit string) clientv3.LeaseID {
	t.Helper()
	lease, err := client.Grant(call(t), limitTTL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(call(t), limit, "earlier", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	return lease.ID
}

func TestABrokenConnectionProvesNothing(t *testing.T) {
	t.Parallel()
	process, _, next, term := witnessed(t)
	for range 3 {
		if process.hangUp() == 0 {
			t.Fatal("there is no connection to break")
		}
		eventually(t, "the witness connects again", func() bool {
			process.mu.Lock()
			defer process.mu.Unlock()
			return len(process.conns) > 0
		})
	}
	if term.ctx.Err() != nil || next.Status().State != StateCandidate {
		t.Errorf("the leader was replaced although its process answers: %v, next is %v", context.Cause(term.ctx), next.Status())
	}
}

// sign writes the sign of life of a new process with this name.
func sign(t *testing.T, client *clientv3.Client, name string) {
	t.Helper()
	lease, err := client.Grant(call(t), int64(longTTL/time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"/signs", "/work"} {
		if _, err := client.Put(call(t), prefix+prefixOf(t)+name, "alive", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
}

// background runs f until the end of the test.
func background(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}
