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

// quick is a config whose electors look at the queue often and whose leases do not expire within a test.
func quick(name string) Config {
	return Config{Name: name, Addr: name + ":8470", TTL: longTTL, RenewEvery: 200 * time.Millisecond, RenewTimeout: 700 * time.Millisecond}
}

// slow is a config whose electors look and renew too rarely to notice anything by it.
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
					t.Errorf("term %d began without holding", term.Rev)
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
		t.Errorf("leaders: got %v, want that a lead that fails gives others their turn", leaders)
	}
	if left := queue(t, dial(t)); len(left) != 0 {
		t.Errorf("keys after all have stopped: got %v, want none", left)
	}
}

func TestRunWaitsForALeadThatIsSlowToReturn(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, quick("a"), true)
	first := a.nextTerm(t)
	remove(t, client, first.Key)
	if cause := first.lost(t); !errors.Is(cause, ErrTermLost) || !errors.Is(cause, ErrKeyDeleted) {
		t.Errorf("cause: got %v, want a term lost by a deleted key", cause)
	}
	// Another leads three times meanwhile, so there was ample opportunity.
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

func TestAStopDrainsUnderItsTermAndThenHandsOver(t *testing.T) {
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
	// The lease could not have expired within the test's patience; it is gone because it was revoked.
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

// stuck is an etcd whose leases cannot be revoked.
type stuck struct{ clientv3.Lease }

func (stuck) Revoke(ctx context.Context, _ clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return nil, hang(ctx)
}

func TestAStopHandsOverWithoutWaitingForTheLease(t *testing.T) {
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

func TestAWinWithADeadLeaseIsNotBelieved(t *testing.T) {
	t.Parallel()
	client := dial(t)
	leader := rival(t, client)
	b := start(t, client, slow("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	phantom := queue(t, client)[1]
	// b renews and looks every 20 s only: nothing but Campaign's success tells it that anything happened.
	revoke(t, client, leaseOf(t, client, phantom.Key))
	if err := leader.Resign(call(t)); err != nil {
		t.Fatalf("resign: %v", err)
	}
	term := b.nextTerm(t)
	if term.Key == phantom.Key {
		t.Errorf("term: got the phantom's key %s", term.Key)
	}
	if !guarded(t, client, term.Term) {
		t.Errorf("term %v began without holding", term.Term)
	}
}

// lookHook calls then with each answer to a transaction that compares nothing, which is how a candidate looks at the queue.
type lookHook struct {
	clientv3.KV
	then func(*clientv3.TxnResponse)
}

func (h lookHook) Txn(ctx context.Context) clientv3.Txn {
	return &hookedTxn{Txn: h.KV.Txn(ctx), hook: h}
}

type hookedTxn struct {
	clientv3.Txn
	hook     lookHook
	compares bool
}

func (t *hookedTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.compares, t.Txn = true, t.Txn.If(cs...)
	return t
}

func (t *hookedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *hookedTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil && !t.compares {
		t.hook.then(resp)
	}
	return resp, err
}

func TestAKeyThatVanishesBeforeTheConfirmationIsNoWin(t *testing.T) {
	t.Parallel()
	client, hooked := dial(t), dial(t)
	stolen := make(chan string, 1)
	var once sync.Once
	hooked.KV = lookHook{hooked.KV, func(resp *clientv3.TxnResponse) {
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) == 1 { // first in the queue, as it has just read
			once.Do(func() {
				remove(t, client, string(kvs[0].Key))
				stolen <- string(kvs[0].Key)
			})
		}
	}}
	a := start(t, hooked, quick("a"), false)
	key := receive(t, "the key to be stolen", stolen)
	if term := a.nextTerm(t); term.Key == key {
		t.Errorf("term %v began with a key that was gone", term.Term)
	}
}

func TestAWaitingCandidateThatLostItsPlaceQueuesAgain(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *clientv3.Client, string){
		"its lease is revoked": func(t *testing.T, c *clientv3.Client, key string) { revoke(t, c, leaseOf(t, c, key)) },
		"its key is deleted":   remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t)
			leader := rival(t, client)
			b := start(t, client, quick("b"), false)
			eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
			old := queue(t, client)[1]
			lose(t, client, old.Key)
			eventually(t, "b waits under a new lease", func() bool {
				keys := queue(t, client)
				return len(keys) == 2 && keys[1].Key != old.Key && b.Status().State == StateCandidate
			})
			if got := len(b.terms); got != 0 {
				t.Fatalf("terms while another leads: got %d, want 0", got)
			}
			if err := leader.Resign(call(t)); err != nil {
				t.Fatalf("resign: %v", err)
			}
			b.nextTerm(t)
		})
	}
}

func TestALeaderWhoseProofIsTakenStopsAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		take func(*testing.T, *clientv3.Client, string)
		want []error
	}{
		"its key is deleted by hand":   {remove, []error{ErrKeyDeleted}},
		"its lease is revoked by hand": {func(t *testing.T, c *clientv3.Client, key string) { revoke(t, c, leaseOf(t, c, key)) }, []error{ErrKeyDeleted, ErrLeaseGone}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t)
			// It renews and reads every 20 s only, so it is the watch that tells.
			a := start(t, client, slow("a"), false)
			term := a.nextTerm(t)
			test.take(t, client, term.Key)
			cause := term.lost(t)
			reason := false
			for _, want := range test.want {
				reason = reason || errors.Is(cause, want)
			}
			if !errors.Is(cause, ErrTermLost) || !reason {
				t.Errorf("cause: got %v, want ErrTermLost by one of %v", cause, test.want)
			}
			if next := a.nextTerm(t); next.Rev <= term.Rev {
				t.Errorf("next term: got %d, want above %d", next.Rev, term.Rev)
			}
		})
	}
}

// deaf is a watcher that never hears anything, as one whose endpoint hangs.
type deaf struct{ clientv3.Watcher }

func (deaf) Watch(ctx context.Context, _ string, _ ...clientv3.OpOption) clientv3.WatchChan {
	ch := make(chan clientv3.WatchResponse)
	context.AfterFunc(ctx, func() { close(ch) })
	return ch
}

func TestADeafWatchHidesNothing(t *testing.T) {
	t.Parallel()
	client, hearing := dial(t), dial(t)
	hard := clientv3.NewCtxClient(t.Context())
	hard.KV, hard.Lease, hard.Watcher = hearing.KV, hearing.Lease, deaf{}
	leader := rival(t, client)
	b := start(t, hard, quick("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	if err := leader.Resign(call(t)); err != nil {
		t.Fatalf("resign: %v", err)
	}
	term := b.nextTerm(t)
	remove(t, client, term.Key)
	if cause := term.lost(t); !errors.Is(cause, ErrKeyDeleted) {
		t.Errorf("cause: got %v, want ErrKeyDeleted", cause)
	}
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

func TestElectorsStandInOneQueueWithPackageConcurrency(t *testing.T) {
	t.Parallel()
	client := dial(t)
	a := start(t, client, quick("a"), false)
	a.nextTerm(t)
	other, ctx := stranger(t, client), call(t)
	won := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { won <- other.Campaign(ctx, "stranger") })
	eventually(t, "the stranger waits", func() bool { return len(queue(t, client)) == 2 })
	if got := len(won); got != 0 {
		t.Error("the stranger's campaign returned while an elector leads")
	}
	a.stop()
	if err := receive(t, "the stranger to lead", won); err != nil {
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

func TestRunReportsWhatNoRetryMends(t *testing.T) {
	t.Run("an impossible config", func(t *testing.T) {
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
			t.Errorf("Run: got %v, want one that says the client is closed", err)
		}
	})
}
