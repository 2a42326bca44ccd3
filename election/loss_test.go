package election

import (
	"context"
	"errors"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestAWinWithARevokedLeaseIsNoTerm(t *testing.T) {
	t.Parallel()
	client := dial(t)
	leader := contender(t, client)
	b := start(t, client, slow("b"), false)
	eventually(t, "b waits", func() bool { return b.Status().State == StateCandidate })
	phantom := queue(t, client)[1]
	// b renews and reads only every 20 s, so the return of Campaign is its only hint.
	revoke(t, client, leaseOf(t, client, phantom.Key))
	if err := leader.Resign(call(t)); err != nil {
		t.Fatalf("resign: %v", err)
	}
	term := b.nextTerm(t)
	if term.Key == phantom.Key {
		t.Errorf("term: got the phantom's key %s", term.Key)
	}
	if !guarded(t, client, term.Term) {
		t.Errorf("term %v began, but its guard does not hold", term.Term)
	}
}

// queueHook calls then with each answer to a transaction without a comparison, which is how a candidate reads the queue.
type queueHook struct {
	clientv3.KV
	then func(*clientv3.TxnResponse)
}

func (h queueHook) Txn(ctx context.Context) clientv3.Txn {
	return &hookedTxn{Txn: h.KV.Txn(ctx), hook: h}
}

type hookedTxn struct {
	clientv3.Txn
	hook     queueHook
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
	hooked.KV = queueHook{hooked.KV, func(resp *clientv3.TxnResponse) {
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) == 1 { // our key is in the queue
			once.Do(func() {
				remove(t, client, string(kvs[0].Key))
				stolen <- string(kvs[0].Key)
			})
		}
	}}
	a := start(t, hooked, quick("a"), false)
	key := receive(t, "the key to be stolen", stolen)
	if term := a.nextTerm(t); term.Key == key {
		t.Errorf("term %v began with a deleted key", term.Term)
	}
}

func TestACandidateThatLostItsKeyQueuesAgain(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *clientv3.Client, string){
		"its lease is revoked": func(t *testing.T, c *clientv3.Client, key string) { revoke(t, c, leaseOf(t, c, key)) },
		"its key is deleted":   remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dial(t)
			leader := contender(t, client)
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

func TestALeaderWithoutItsKeyStopsAtOnce(t *testing.T) {
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
			// a renews and reads only every 20 s, so the watch finds the deletion.
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

// deaf is a watcher without events, like one whose endpoint hangs.
type deaf struct{ clientv3.Watcher }

func (deaf) Watch(ctx context.Context, _ string, _ ...clientv3.OpOption) clientv3.WatchChan {
	ch := make(chan clientv3.WatchResponse)
	context.AfterFunc(ctx, func() { close(ch) })
	return ch
}

func TestReadsCoverForAWatchThatHangs(t *testing.T) {
	t.Parallel()
	client, hearing := dial(t), dial(t)
	hard := clientv3.NewCtxClient(t.Context())
	hard.KV, hard.Lease, hard.Watcher = hearing.KV, hearing.Lease, deaf{}
	leader := contender(t, client)
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
