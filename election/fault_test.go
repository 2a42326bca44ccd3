package election

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// short is a config for electors whose leases expire within a test.
func short(name string) Config {
	return Config{Name: name, TTL: 2 * time.Second}
}

func TestAPartitionedLeaderStopsBeforeItsKeyExpires(t *testing.T) {
	t.Parallel()
	healthy, link := dial(t), newProxy(t)
	a := start(t, dial(t, link.addr()), short("a"), false)
	term := a.nextTerm(t)
	granted := a.Status().LeaseDeadline
	b := start(t, healthy, short("b"), false)
	eventually(t, "b waits and a's lease was renewed", func() bool {
		return b.Status().State == StateCandidate && a.Status().LeaseDeadline.After(granted)
	})

	// Two observers draw numbers from one counter. So the test proves the order and needs no duration.
	var clock, stopped, deleted atomic.Int64
	watch := healthy.Watch(call(t), term.Key, clientv3.WithRev(term.Rev+1), clientv3.WithFilterPut())
	var wg sync.WaitGroup
	wg.Go(func() {
		<-term.ctx.Done()
		stopped.Store(clock.Add(1))
	})
	wg.Go(func() {
		<-watch
		deleted.Store(clock.Add(1))
	})
	link.hole()
	next := b.nextTerm(t)
	wg.Wait()
	if stopped.Load() > deleted.Load() {
		t.Error("the leader stopped after its key had expired, want before")
	}
	if cause := term.lost(t); !errors.Is(cause, ErrTermLost) || !errors.Is(cause, ErrDeadlinePassed) {
		t.Errorf("cause: got %v, want ErrTermLost by ErrDeadlinePassed", cause)
	}
	if link.held.Load() == 0 {
		t.Error("the partition delayed nothing: the fault took no effect")
	}
	if next.Rev <= term.Rev {
		t.Errorf("next term: got %d, want above %d", next.Rev, term.Rev)
	}

	link.heal()
	eventually(t, "the old leader queues again", func() bool { return a.Status().State == StateCandidate })
	if next.ctx.Err() != nil {
		t.Errorf("the new term ended when the link healed: %v", next.ctx.Err())
	}
	b.stop()
	a.nextTerm(t)
}

func TestALeaderSurvivesOneHangingEndpointOfThree(t *testing.T) {
	t.Parallel()
	// Three clusters have three links each, and another link hangs in each. So in one of them the endpoint of the session's stream
	// hangs. In three more clusters, the renewals stay on one endpoint too.
	type cluster struct {
		node *node
		term heldTerm
		cut  *proxy
		from time.Time // the lease's deadline when the link began to hang
	}
	var clusters []cluster
	for i := range 6 {
		links := []*proxy{newProxy(t), newProxy(t), newProxy(t)}
		cfg := Config{Name: "a", TTL: 5 * time.Second} // a loaded machine may need long for one try
		cfg.Prefix = fmt.Sprintf("%s%d/", prefixOf(t), i)
		client := dial(t, links[0].addr(), links[1].addr(), links[2].addr())
		if i >= 3 {
			ReuseStreams(client)
		}
		n := start(t, client, cfg, false)
		clusters = append(clusters, cluster{node: n, term: n.nextTerm(t), cut: links[i%3]})
	}
	for i := range clusters {
		c := &clusters[i]
		c.cut.hole()
		c.from = c.node.Status().LeaseDeadline
	}
	for i, c := range clusters {
		eventually(t, "more than the TTL passes in renewals", func() bool {
			return c.term.ctx.Err() != nil || c.node.Status().LeaseDeadline.Sub(c.from) > 6*time.Second
		})
		if c.term.ctx.Err() != nil {
			t.Errorf("term with endpoint %d hanging: got %v, want it to continue", i, context.Cause(c.term.ctx))
		}
		if c.cut.held.Load() == 0 {
			t.Errorf("endpoint %d: the hole delayed nothing, so the fault took no effect", i)
		}
	}
}

func TestRunReturnsInTimeWhileEtcdDoesNotAnswer(t *testing.T) {
	// Removing the key and the lease takes at most two seconds. The rest is for a busy machine.
	const bound = 2*deleteTimeout + 2*time.Second
	for _, state := range []State{StateFollower, StateCandidate, StateLeader} {
		t.Run("as "+state.String(), func(t *testing.T) {
			t.Parallel()
			link, healthy := newProxy(t), dial(t)
			t.Cleanup(func() { // a key that was not removed would disturb the next -count
				if _, err := healthy.Delete(context.Background(), prefixOf(t), clientv3.WithPrefix()); err != nil {
					t.Errorf("delete the remaining keys: %v", err)
				}
			})
			switch state {
			case StateFollower:
				link.hole()
			case StateCandidate:
				contender(t, healthy)
			}
			a := start(t, dial(t, link.addr()), quick("a"), false)
			if state == StateLeader {
				a.nextTerm(t)
			}
			eventually(t, "state is "+state.String(), func() bool { return a.Status().State == state })
			link.hole()
			began := time.Now()
			a.stop()
			if err := receive(t, "Run to return", a.result); err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
			if took := time.Since(began); took > bound {
				t.Errorf("Run took %v to return, want at most %v", took, bound)
			}
		})
	}
}

func TestAPartitionedLeaderLeadsAgainBeforeItsOldLeaseExpires(t *testing.T) {
	t.Parallel()
	link := newProxy(t)
	cfg := Config{Name: "a", TTL: longTTL, RenewEvery: 200 * time.Millisecond, RenewTimeout: 200 * time.Millisecond, Margin: longTTL - 2*time.Second}
	a := start(t, dial(t, link.addr()), cfg, false)
	first := a.nextTerm(t)
	link.hole()
	first.lost(t)
	eventually(t, "the candidacy has ended", func() bool { return a.Status().State == StateFollower })
	link.lose()
	link.heal()
	if link.held.Load() == 0 {
		t.Error("the partition delayed nothing: the fault took no effect")
	}
	second := a.nextTerm(t) // before the first lease expires
	if keys := queue(t, dial(t)); len(keys) != 1 || keys[0].Rev != second.Rev {
		t.Errorf("keys in the election: got %v, want only that of the second term, %v", keys, second.Term)
	}
}

func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	link := newProxy(t)
	link.hole()
	story := newStory()
	a := startLogged(t, dial(t, link.addr()), short("a"), false, story.logger())
	eventually(t, "the failure shows", func() bool { return a.Status().Err != nil })
	failed := a.Status().Err
	eventually(t, "a second candidacy fails", func() bool { return !errors.Is(a.Status().Err, failed) })
	link.heal()
	a.nextTerm(t)
	a.stop()
	receive(t, "Run to return", a.result)
	if err := a.Status().Err; err != nil {
		t.Errorf("error in the status after the recovery: got %v, want none", err)
	}
	story.check(t, `
[WARN] candidacy failed
[INFO] candidate again
[INFO] election state changed: from=follower to=candidate
[INFO] election state changed: from=candidate to=confirming
[INFO] election state changed: from=confirming to=leader
[INFO] election state changed: from=leader to=resigning
[INFO] election state changed: from=resigning to=follower
`)
}

// skewed is a machine whose clocks a test can move.
type skewed struct{ wall, boot atomic.Int64 }

func (s *skewed) read() Reading {
	r := SystemClock()
	r.Wall = r.Wall.Add(time.Duration(s.wall.Load()))
	r.Boot += time.Duration(s.boot.Load())
	return r
}

func TestAJumpOfTheClocksEndsTheTerm(t *testing.T) {
	for name, jump := range map[string]func(*skewed){
		"the machine was suspended":     func(s *skewed) { s.wall.Add(int64(3 * time.Second)); s.boot.Add(int64(3 * time.Second)) },
		"the wall clock was set ahead":  func(s *skewed) { s.wall.Add(int64(time.Hour)) },
		"the wall clock was set behind": func(s *skewed) { s.wall.Add(int64(-2 * time.Second)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clocks skewed
			clocks.boot.Store(int64(time.Hour)) // so that platforms without a boot clock run this test too
			cfg := quick("a")
			cfg.Clock = clocks.read
			a := start(t, dial(t), cfg, false)
			term := a.nextTerm(t)
			jump(&clocks)
			if cause := term.lost(t); !errors.Is(cause, ErrTermLost) || !errors.Is(cause, ErrClockJumped) {
				t.Errorf("cause: got %v, want ErrTermLost by ErrClockJumped", cause)
			}
			a.nextTerm(t)
		})
	}
}

func TestAKeyWrittenByHandDoesNotBlockTheElection(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, short("a"), false)
	first := a.nextTerm(t)
	prefix := first.Key[:strings.LastIndex(first.Key, "/")+1]
	if _, err := client.Put(call(t), prefix+"garbage", "{"); err != nil {
		t.Fatal(err)
	}
	b := start(t, client, short("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	a.stop()
	if next := b.nextTerm(t); next.Rev <= first.Rev {
		t.Errorf("next term: got %d, want above %d", next.Rev, first.Rev)
	}
	resp, err := client.Get(call(t), prefix+"garbage")
	if err != nil || len(resp.Kvs) != 0 {
		t.Errorf("the key written by hand still exists: %v, %v", resp.Kvs, err)
	}
}

func TestACandidateThatQueuesAgainShowsNoError(t *testing.T) {
	t.Parallel()
	a := start(t, dial(t), Config{Name: "a", TTL: longTTL}, false)
	a.nextTerm(t)
	link := newProxy(t)
	link.hole()
	b := start(t, dial(t, link.addr()), Config{Name: "b", TTL: longTTL}, false)
	eventually(t, "the failure shows", func() bool { return b.Status().Err != nil })
	link.heal()
	eventually(t, "b waits in the queue", func() bool { return b.Status().State == StateCandidate })
	eventually(t, "its error is gone", func() bool { return b.Status().Err == nil })
}
