package sim

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-scheduler/rota/store/mem"
)

// trouble is the fault of the link between one machine and the store.
type trouble int

const (
	none   trouble = iota
	mute           // requests do not arrive
	deaf           // answers do not arrive
	frozen         // requests arrive at the end of the fault: the process is paused
	flaky          // a third of all requests fails, renewals of leases too
)

// network decides the fate of every request to the store. It implements the Faults of the server.
type network struct {
	seed  uint64
	tally *tally

	mu    sync.Mutex
	links map[*clientv3.Client]*link // guarded by mu
	rough bool                       // guarded by mu: single requests fail
}

// link is the path from a process or a caller to the store.
type link struct {
	name    string
	trouble trouble   // guarded by network.mu
	until   time.Time // guarded by network.mu: the end of the fault
}

func newNetwork(seed uint64, t *tally) *network {
	return &network{seed: seed, tally: t, links: make(map[*clientv3.Client]*link)}
}

// connect returns a client whose requests and watches take time and may fail.
func (n *network) connect(server *mem.Server, name string) *clientv3.Client {
	c := server.Client()
	c.Watcher = &slowWatcher{Watcher: c.Watcher, network: n, name: name, closing: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[c] = &link{name: name}
	return c
}

func (n *network) disconnect(c *clientv3.Client) {
	_ = c.Close() // always context.Canceled
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, c)
}

// disturb starts or ends a fault of a link.
func (n *network) disturb(c *clientv3.Client, t trouble, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.links[c]; l != nil {
		l.trouble, l.until = t, until
	}
}

// clear ends the fault of a link if that fault was to end at until. A later fault stays.
func (n *network) clear(c *clientv3.Client, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.links[c]; l != nil && l.until.Equal(until) {
		l.trouble = none
	}
}

// roughen makes single requests fail, or stops that.
func (n *network) roughen(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rough = on
}

func (n *network) isRough() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rough
}

// Before implements mem.Faults.
func (n *network) Before(op mem.Op) mem.Verdict {
	n.mu.Lock()
	l := n.links[op.Client]
	if l == nil { // the link of the recorder has no faults
		n.mu.Unlock()
		return mem.Verdict{}
	}
	name, trouble, until, rough := l.name, l.trouble, l.until, n.rough
	n.mu.Unlock()

	now := time.Now()
	d := throw(n.seed, "request", name, int(op.Kind), now.UnixNano(), firstKey(op))
	v := mem.Verdict{Delay: latency(d, rough)}
	switch trouble {
	case mute:
		n.tally.add("request lost on a mute link")
		v.Action, v.Hang = mem.Refuse, true
	case deaf:
		n.tally.add("answer lost on a deaf link")
		v.Action, v.Hang = mem.Lose, true
	case frozen:
		n.tally.add("request delayed by a pause")
		v.Action, v.Hang, v.Wait = mem.Late, true, until.Sub(now)+d.upTo(20*time.Millisecond)
	case flaky:
		n.spoil(&v, d, op.Kind, 0.3)
	default:
		// The judge must know the reason of each lost lease, so renewals fail only on flaky links.
		if rough && op.Kind != mem.KeepAlive {
			n.spoil(&v, d, op.Kind, 0.02)
		}
	}
	return v
}

// latency returns a different latency for any two requests, so that their order does not depend on Go's scheduler.
func latency(d dice, rough bool) time.Duration {
	switch {
	case rough && d.chance(0.01):
		return d.between(50*time.Millisecond, 900*time.Millisecond)
	case rough && d.chance(0.05):
		return d.between(3*time.Millisecond, 50*time.Millisecond)
	}
	return d.between(50*time.Microsecond, 3*time.Millisecond)
}

// spoil makes a request fail with probability p.
func (n *network) spoil(v *mem.Verdict, d dice, kind mem.Kind, p float64) {
	if !d.chance(p) {
		return
	}
	v.Hang = kind == mem.KeepAlive || d.chance(0.3)
	v.Err = oneOf(d, nil, rpctypes.ErrGRPCLeaderChanged, rpctypes.ErrGRPCNoLeader, rpctypes.ErrGRPCTimeoutDueToLeaderFail,
		rpctypes.ErrGRPCTimeoutDueToConnectionLost, status.Error(codes.Unavailable, "transport is closing"))
	switch v.Action = oneOf(d, mem.Refuse, mem.Lose, mem.Late); v.Action {
	case mem.Refuse:
		n.tally.add("request refused")
	case mem.Lose:
		n.tally.add("request applied, then an error")
	case mem.Late:
		n.tally.add("an error, then the request applied late")
		v.Wait = d.upTo(oneOf(d, 50*time.Millisecond, time.Second, 8*time.Second))
		v.Ops = int64(d.IntN(200))
	}
}

// firstKey distinguishes the requests of one process at one instant.
func firstKey(op mem.Op) string {
	switch r := op.Request.(type) {
	case interface{ GetKey() []byte }:
		return string(r.GetKey())
	case interface{ GetID() int64 }:
		return string(rune(r.GetID()))
	}
	return ""
}

// slowWatcher delays the events of watches, and delivers some of them twice.
type slowWatcher struct {
	clientv3.Watcher
	network *network
	name    string
	closing chan struct{} // closed when the client is closed
	once    sync.Once
	running sync.WaitGroup
}

// Watch implements clientv3.Watcher.
func (w *slowWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	in := w.Watcher.Watch(ctx, key, opts...)
	out := make(chan clientv3.WatchResponse)
	w.running.Go(func() {
		defer close(out)
		for resp := range in {
			d := throw(w.network.seed, "watch", w.name, key, time.Now().UnixNano())
			rough, times := w.network.isRough(), 1
			if rough && len(resp.Events) > 0 && d.chance(0.02) {
				w.network.tally.add("watch event delivered twice")
				times = 2
			}
			for range times {
				if !w.tell(ctx, out, resp, latency(d, rough)) {
					break
				}
			}
		}
	})
	return out
}

func (w *slowWatcher) tell(ctx context.Context, out chan<- clientv3.WatchResponse, resp clientv3.WatchResponse, after time.Duration) bool {
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return false
	case <-w.closing:
		return false
	}
	select {
	case out <- resp:
		return true
	case <-ctx.Done():
		return false
	case <-w.closing:
		return false
	}
}

// Close implements clientv3.Watcher.
func (w *slowWatcher) Close() error {
	w.once.Do(func() { close(w.closing) })
	err := w.Watcher.Close()
	w.running.Wait()
	return err
}
