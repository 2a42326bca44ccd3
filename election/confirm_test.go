package election

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// contenderFor returns a candidacy whose session and campaign were not started, with a key in the queue.
func contenderFor(t *testing.T, client *clientv3.Client, name string) *candidacy {
	t.Helper()
	cfg := quick(name)
	cfg.Prefix = prefixOf(t)
	e := New(cfg, client, hclog.NewNullLogger())
	lease, err := Grant(call(t), client, e.cfg.lease(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Revoke(context.Background()) })
	c := &candidacy{e: e, lease: lease, life: t.Context(), key: Term{Key: prefixOf(t) + name}}
	c.enqueue(t)
	return c
}

// enqueue writes the key.
func (c *candidacy) enqueue(t *testing.T) {
	t.Helper()
	resp, err := c.e.client.Put(call(t), c.key.Key, "{}", clientv3.WithLease(c.lease.ID()))
	if err != nil {
		t.Fatal(err)
	}
	c.key.Rev = resp.Header.Revision
}

func TestOnlyTheFirstKeyThatStandsWins(t *testing.T) {
	t.Parallel()
	client := dial(t)
	older, own, younger := contenderFor(t, client, "a"), contenderFor(t, client, "b"), contenderFor(t, client, "c")
	mustLose := func(what string) {
		t.Helper()
		if won, err := own.confirm(call(t)); !errors.Is(err, ErrTermLost) {
			t.Errorf("%s: won at %d (%v), want %v", what, won, err, ErrTermLost)
		}
	}
	mustLose("behind an older key")
	remove(t, client, older.key.Key)
	remove(t, client, own.key.Key)
	mustLose("without a key")
	if keys := queue(t, client); len(keys) != 1 || keys[0] != younger.key {
		t.Errorf("the queue is %v, want %v", keys, younger.key)
	}
	lost := own.key
	own.enqueue(t)
	own.key, lost = lost, own.key
	remove(t, client, younger.key.Key)
	mustLose("with a later key of the same name")
	if stands, err := own.keyStands(own.key); stands || err != nil {
		t.Errorf("the lost key stands: %t, %v", stands, err)
	}
	if err := own.deleteKey(call(t)); err != nil {
		t.Error(err)
	}
	own.key = lost
	won, err := own.confirm(call(t))
	resp, err2 := client.Get(call(t), own.key.Key)
	if err != nil || err2 != nil || len(resp.Kvs) != 1 || resp.Kvs[0].ModRevision != won {
		t.Errorf("won at %d (%v), want the revision of the record (%v)", won, err, err2)
	}
}

// lossy loses the answers to the first transactions with a comparison.
type lossy struct {
	clientv3.KV
	answers *atomic.Int32 // that are lost
}

func (l lossy) Txn(ctx context.Context) clientv3.Txn {
	return &lossyTxn{hookedTxn: hookedTxn{Txn: l.KV.Txn(ctx), hook: queueHook{then: func(*clientv3.TxnResponse) {}}}, lossy: l}
}

type lossyTxn struct {
	hookedTxn
	lossy lossy
}

func (t *lossyTxn) If(cs ...clientv3.Cmp) clientv3.Txn { t.hookedTxn.If(cs...); return t }

func (t *lossyTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.hookedTxn.Then(ops...); return t }

func (t *lossyTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.hookedTxn.Commit()
	if t.compares && t.lossy.answers.Add(-1) >= 0 {
		return nil, errors.New("the answer is lost")
	}
	return resp, err
}

func TestAWinWhoseAnswerIsLostIsConfirmed(t *testing.T) {
	t.Parallel()
	client := dial(t)
	c := contenderFor(t, client, "a")
	var answers atomic.Int32
	answers.Store(2)
	client.KV = lossy{client.KV, &answers}
	won, err := c.confirm(call(t))
	if resp, err2 := client.Get(call(t), c.key.Key); err != nil || err2 != nil || resp.Kvs[0].ModRevision != won {
		t.Errorf("won at %d (%v), want the revision of the last write (%v)", won, err, err2)
	}
	answers.Store(1)
	if err := c.deleteKey(call(t)); err != nil || answers.Load() >= 0 {
		t.Errorf("delete the key: %v, and %d answers are to be lost", err, answers.Load())
	}
}

// slowPut holds the first write of a key back until the queue was read twice.
type slowPut struct {
	clientv3.KV
	first *sync.Once
	reads chan struct{}
}

func (s slowPut) Txn(ctx context.Context) clientv3.Txn {
	return &slowTxn{hookedTxn: hookedTxn{Txn: s.KV.Txn(ctx), hook: queueHook{then: func(*clientv3.TxnResponse) {
		select {
		case s.reads <- struct{}{}:
		default:
		}
	}}}, slow: s}
}

type slowTxn struct {
	hookedTxn
	slow slowPut
}

func (t *slowTxn) If(cs ...clientv3.Cmp) clientv3.Txn { t.hookedTxn.If(cs...); return t }

func (t *slowTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.hookedTxn.Then(ops...); return t }

func (t *slowTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *slowTxn) Commit() (*clientv3.TxnResponse, error) {
	if t.compares {
		t.slow.first.Do(func() {
			for range 2 {
				select {
				case <-t.slow.reads:
				case <-time.After(patience):
				}
			}
		})
	}
	return t.hookedTxn.Commit()
}

// A busy etcd takes long to write the key. The candidacy goes on, because another one would take as long.
func TestACandidateWaitsForItsKey(t *testing.T) {
	t.Parallel()
	client, healthy := dial(t), dial(t)
	client.KV = slowPut{client.KV, new(sync.Once), make(chan struct{})}
	watch := healthy.Watch(call(t), prefixOf(t), clientv3.WithPrefix())
	a := start(t, client, quick("a"), false)
	first := receive(t, "the key", watch).Events[0].Kv
	if term := a.nextTerm(t); term.Key != string(first.Key) || term.Rev != first.CreateRevision {
		t.Errorf("the term is %v, want the first key %s", term.Term, first.Key)
	}
}

// The contact of a standby is recorded by its own reads. Without it, its lease would be lost every ten seconds.
func TestAStandbyRecordsItsContact(t *testing.T) {
	t.Parallel()
	client := dial(t)
	contender(t, client)
	cfg := quick("a")
	cfg.Contact = new(QuorumContact)
	start(t, client, cfg, false)
	eventually(t, "contact", func() bool { return !cfg.Contact.since(time.Time{}).IsZero() })
}

// watchRecorder records the revisions at which watches begin, and breaks watches.
type watchRecorder struct {
	clientv3.Watcher
	begun chan int64
	end   chan context.CancelFunc
}

func (w *watchRecorder) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, opts...)
	ctx, cancel := context.WithCancel(ctx)
	w.begun <- op.Rev()
	w.end <- cancel
	return w.Watcher.Watch(ctx, key, opts...)
}

// A leader's key may be much older than the latest changes, and etcd stops all writes while a watch reads the past. So each watch of
// the key begins at the present revision. The test does not run beside others, because they watch from earlier revisions.
func TestAWatchOfATermReadsNoHistory(t *testing.T) {
	client := dial(t)
	c := contenderFor(t, client, "a")
	later := func() (rev int64) {
		for range 3 {
			resp, err := client.Put(call(t), prefixOf(t)+"other", "x")
			if err != nil {
				t.Fatal(err)
			}
			rev = resp.Header.Revision
		}
		return rev
	}
	rev := later()
	if _, err := client.Compact(call(t), rev); err != nil { // this is no deletion
		t.Fatal(err)
	}
	recorder := &watchRecorder{client.Watcher, make(chan int64, 10), make(chan context.CancelFunc, 10)}
	client.Watcher = recorder
	ctx, cancel := context.WithCancel(t.Context())
	deleted := make(chan bool, 1)
	var wg sync.WaitGroup
	wg.Go(func() { deleted <- awaitDeletion(ctx, client, c.key, time.Millisecond) })
	defer wg.Wait()
	defer cancel()
	for _, which := range []string{"first", "second"} {
		if from := receive(t, "the "+which+" watch", recorder.begun); from <= rev {
			t.Errorf("the %s watch begins at revision %d, and the latest is %d", which, from, rev)
		}
		if which == "first" {
			rev = later()
			receive(t, "the watch", recorder.end)()
		}
	}
	if len(deleted) > 0 {
		t.Fatal("the key counts as deleted")
	}
	remove(t, client, c.key.Key)
	if !receive(t, "the deletion", deleted) {
		t.Error("no deletion was found")
	}
}
