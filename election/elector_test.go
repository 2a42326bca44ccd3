package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// quick is a config for electors that read the queue often. Their leases do not expire within a test.
func quick(name string) Config {
	return Config{Name: name, Addr: name + ":8470", TTL: longTTL, RenewEvery: 200 * time.Millisecond, RenewTimeout: 700 * time.Millisecond}
}

// slow is a config for electors that read and renew only every 20 s. So they notice a change only by a watch or by
// Campaign.
func slow(name string) Config {
	return Config{Name: name, TTL: longTTL, RenewEvery: 20 * time.Second, RenewTimeout: 700 * time.Millisecond}
}

func TestOneOfFiveCandidatesLeadsAtATime(t *testing.T) {
	t.Parallel()
	const terms = 12
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var revs []int64
	var leading, most atomic.Int64
	leaders := map[string]bool{}

	var wg sync.WaitGroup
	for i := range 5 {
		name := fmt.Sprintf("n%d", i)
		cfg := quick(name)
		cfg.Prefix = prefixOf(t)
		elector, client := New(cfg, dial(t), hclog.NewNullLogger()), dial(t)
		wg.Go(func() {
			err := elector.Run(ctx, func(_ context.Context, term Term) error {
				most.Store(max(most.Load(), leading.Add(1)))
				defer leading.Add(-1)
				if !guarded(t, client, term) {
					t.Errorf("term %d began, but its guard does not hold", term.Rev)
				}
				mu.Lock()
				defer mu.Unlock()
				revs, leaders[name] = append(revs, term.Rev), true
				if len(revs) >= terms {
					stop()
				}
				return errors.New("cannot dispatch")
			})
			if err != nil {
				t.Errorf("Run of %s: got %v, want nil", name, err)
			}
		})
	}
	wg.Wait()

	if got := most.Load(); got != 1 {
		t.Errorf("leads at one time: got %d, want 1", got)
	}
	for i := 1; i < len(revs); i++ {
		if revs[i] <= revs[i-1] {
			t.Errorf("terms: got %v, want them to rise", revs)
		}
	}
	if len(leaders) < 2 {
		t.Errorf("leaders: got %v, want others to lead after a lead that fails", leaders)
	}
	if left := queue(t, dial(t)); len(left) != 0 {
		t.Errorf("keys after all have stopped: got %v, want none", left)
	}
}

func TestRunWaitsForASlowLead(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, quick("a"), true)
	first := a.nextTerm(t)
	remove(t, client, first.Key)
	if cause := first.lost(t); !errors.Is(cause, ErrTermLost) || !errors.Is(cause, ErrKeyDeleted) {
		t.Errorf("cause: got %v, want a term lost by a deleted key", cause)
	}
	// b leads three times meanwhile, so a had ample opportunity to lead again.
	b := start(t, client, quick("b"), false)
	for range 3 {
		held := b.nextTerm(t)
		held.done <- nil
	}
	released, err := client.Put(call(t), "/"+t.Name()+"/released", "")
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	if got := len(a.terms); got != 0 {
		t.Fatalf("leads begun before the first returned: got %d, want 0", got)
	}
	b.stop()
	first.done <- nil
	if second := a.nextTerm(t); second.Rev <= released.Header.Revision {
		t.Errorf("second term: got key created at %d, want after the first lead returned at %d", second.Rev, released.Header.Revision)
	}
}

func TestAStopDrainsUnderItsTermThenHandsOver(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, quick("a"), true)
	term := a.nextTerm(t)
	lease := leaseOf(t, client, term.Key)
	b := start(t, client, quick("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	standby := queue(t, client)[1]

	a.stop()
	if cause := term.lost(t); !errors.Is(cause, ErrStopped) || errors.Is(cause, ErrTermLost) {
		t.Errorf("cause: got %v, want ErrStopped alone", cause)
	}
	eventually(t, "the lease is renewed while lead drains", func() bool {
		before := a.Status().LeaseDeadline
		wait(t.Context(), 300*time.Millisecond)
		return a.Status().LeaseDeadline.After(before)
	})
	if !guarded(t, client, term.Term) {
		t.Error("the term ended before lead had returned")
	}
	drained, err := client.Put(call(t), "/"+t.Name()+"/drained", "")
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	term.done <- nil
	if err := receive(t, "Run to return", a.result); err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	// The lease outlasts the patience of the test, so it is gone because it was revoked.
	ttl, err := client.TimeToLive(call(t), lease)
	if err != nil || ttl.TTL != -1 {
		t.Errorf("lease after the stop: got %+v, %v, want it revoked", ttl, err)
	}
	next := b.nextTerm(t)
	if next.Term.Rev != standby.Rev || next.Term.Won <= drained.Header.Revision {
		t.Errorf("next term: got %v, want the standby's %v, won after revision %d", next.Term, standby, drained.Header.Revision)
	}
	deletions := history(t, client, term.Key, term.Rev)
	if len(deletions) != 1 || deletions[0] <= drained.Header.Revision {
		t.Errorf("deletions of the key: got %v, want one after the drain at %d", deletions, drained.Header.Revision)
	}
}

// stuck is an etcd on which the revocation of a lease hangs.
type stuck struct{ clientv3.Lease }

func (stuck) Revoke(ctx context.Context, _ clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return nil, hang(ctx)
}

func TestAStopHandsOverBeforeTheLeaseIsRevoked(t *testing.T) {
	t.Parallel()
	client, sound := dial(t), dial(t)
	half := clientv3.NewCtxClient(t.Context())
	half.KV, half.Lease, half.Watcher = sound.KV, stuck{sound.Lease}, sound.Watcher
	a := start(t, half, quick("a"), false)
	a.nextTerm(t)
	b := start(t, client, quick("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	a.stop()
	b.nextTerm(t)
	if err := receive(t, "Run to return", a.result); err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
}

// history returns the revisions at which a key was deleted, from rev to now.
func history(t *testing.T, client *clientv3.Client, key string, rev int64) []int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(call(t))
	defer cancel()
	end := "/" + t.Name() + "/end"
	if _, err := client.Put(ctx, end, ""); err != nil {
		t.Fatalf("put: %v", err)
	}
	var revs []int64
	for resp := range client.Watch(ctx, "/", clientv3.WithPrefix(), clientv3.WithRev(rev)) {
		for _, ev := range resp.Events {
			if ev.Type == clientv3.EventTypeDelete && string(ev.Kv.Key) == key {
				revs = append(revs, ev.Kv.ModRevision)
			}
			if string(ev.Kv.Key) == end {
				return revs
			}
		}
	}
	t.Fatalf("the watch of %s broke off", key)
	return nil
}

func TestALeadThatReturnsGivesUpItsTerm(t *testing.T) {
	for name, result := range map[string]error{"with nil": nil, "with an error": errors.New("cannot dispatch")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t)
			a := start(t, client, quick("a"), false)
			first := a.nextTerm(t)
			first.done <- result
			second := a.nextTerm(t)
			if second.Rev <= first.Rev || second.Key == first.Key {
				t.Errorf("second term: got %v, want a later one than %v", second.Term, first.Term)
			}
			if !errors.Is(first.ctx.Err(), context.Canceled) {
				t.Errorf("first term's context: got %v, want canceled", first.ctx.Err())
			}
		})
	}
}

func TestPausesGrowWhileLeadFails(t *testing.T) {
	t.Parallel()
	a := start(t, dial(t), quick("a"), false)
	began := time.Now()
	for range 3 {
		held := a.nextTerm(t)
		held.done <- errors.New("cannot dispatch")
	}
	a.nextTerm(t)
	if took, least := time.Since(began), (1+2+4)*minPause/2; took < least {
		t.Errorf("three pauses took %v, want at least %v", took, least)
	}
}

func TestElectorsShareTheQueueWithPackageConcurrency(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, quick("a"), false)
	a.nextTerm(t)
	other, ctx := foreign(t, client), call(t)
	won := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { won <- other.Campaign(ctx, "foreign") })
	eventually(t, "the foreign candidate waits", func() bool { return len(queue(t, client)) == 2 })
	if got := len(won); got != 0 {
		t.Error("the foreign campaign returned while an elector leads")
	}
	a.stop()
	if err := receive(t, "the foreign candidate to lead", won); err != nil {
		t.Errorf("Campaign: got %v, want nil", err)
	}
}

func TestAnInProcessClientElectsToo(t *testing.T) {
	t.Parallel()
	inner := v3client.New(server.Server)
	t.Cleanup(func() { inner.Close() })
	a := start(t, inner, quick("a"), false)
	first := a.nextTerm(t)
	b := start(t, dial(t), quick("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	a.stop()
	second := b.nextTerm(t)
	c := start(t, inner, quick("c"), false)
	eventually(t, "c waits", func() bool { return c.Status().State == StateCandidate })
	remove(t, inner, second.Key)
	third := c.nextTerm(t)
	remove(t, inner, third.Key)
	if cause := third.lost(t); !errors.Is(cause, ErrKeyDeleted) {
		t.Errorf("cause: got %v, want ErrKeyDeleted", cause)
	}
	if !(first.Rev < second.Rev && second.Rev < third.Rev) {
		t.Errorf("terms: got %d, %d, %d, want them to rise", first.Rev, second.Rev, third.Rev)
	}
}

func TestRunReportsPermanentErrors(t *testing.T) {
	t.Run("an invalid config", func(t *testing.T) {
		err := New(Config{Prefix: "/no-slash", Name: "a"}, dial(t), hclog.NewNullLogger()).Run(t.Context(), nil)
		if err == nil {
			t.Error("Run: got nil, want an error")
		}
	})
	t.Run("a closed client", func(t *testing.T) {
		client := dial(t)
		client.Close()
		a := start(t, client, quick("a"), false)
		if err := receive(t, "Run to return", a.result); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: got %v, want an error about the closed client", err)
		}
	})
}
