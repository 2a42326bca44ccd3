package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/ports"
)

func TestAnIdleStoreIsNotListedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		m := NewMirror(s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { _ = m.Follow(ctx) })
		time.Sleep(time.Hour)
		if _, heard := m.Current(); time.Since(heard) > 2*probeEvery || s.Counts().Relists != 0 {
			t.Errorf("heard %v ago, %d relists, want a few seconds and none", time.Since(heard), s.Counts().Relists)
		}
		cancel()
		wg.Wait()
	})
}

func TestMirrorOfAPartitionedMemberIsNotCurrent(t *testing.T) {
	t.Parallel()
	cfgs := make([]embedded.Config, 3)
	var cluster []string
	for i := range cfgs {
		cfgs[i] = embedded.Config{NoSync: true, Name: fmt.Sprint("q", i), Heartbeat: 50 * time.Millisecond, Election: 500 * time.Millisecond}
		cluster = append(cluster, cfgs[i].Name+"=http://"+ports.Addr(t))
	}
	servers := make([]*embedded.Server, 3)
	var wg sync.WaitGroup
	for i := range cfgs {
		cfgs[i].Cluster = strings.Join(cluster, ",")
		wg.Go(func() { servers[i] = etcd(t, cfgs[i]) })
	}
	wg.Wait()
	c := servers[0].Client()
	own := clientv3.NewCtxClient(c.Ctx())
	reads := &countedReads{KV: c.KV}
	own.KV, own.Lease, own.Watcher = reads, c.Lease, c.Watcher
	s := open(t, own)
	m := following(t, s)
	catchUp(t, s, m)
	began := time.Now()
	eventually(t, "a probe", func() bool { _, heard := m.Current(); return heard.After(began) })
	for _, other := range servers[1:] {
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no leader", func() bool { return servers[0].LeaderID() == 0 })
	cut, before := time.Now(), reads.failed.Load()
	eventually(t, "two probes that fail", func() bool { return reads.failed.Load() >= before+2 })
	if _, heard := m.Current(); heard.After(cut) {
		t.Errorf("the mirror says that it was current %v after its member was cut off", heard.Sub(cut))
	}
}

// countedReads counts the reads that fail.
type countedReads struct {
	clientv3.KV
	failed atomic.Int64
}

func (r *countedReads) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := r.KV.Get(ctx, key, opts...)
	if err != nil {
		r.failed.Add(1)
	}
	return resp, err
}

// slowWatches is a watcher that calls before whenever it opens a watch.
type slowWatches struct {
	clientv3.Watcher
	before func()
}

func (w slowWatches) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	w.before()
	return w.Watcher.Watch(ctx, key, opts...)
}

func TestRevisionIsReachedWhenEverythingUpToItIsIn(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		const n = 3500 // more than etcd sends in one response to a watch that has to catch up
		w := open(t, c)
		term := reign(t, c, "a")
		own := clientv3.NewCtxClient(context.Background()) // many changes happen between its list and its watch
		own.KV, own.Lease = c.KV, c.Lease
		var rev atomic.Int64
		own.Watcher = slowWatches{c.Watcher, func() {
			for i := range n / 5 {
				var ops []clientv3.Op
				for j := range 5 {
					id := slot("j", 5*i+j).ID
					ops = append(ops, clientv3.OpPut(w.keys.run("j", id), `{"job":"j","id":"`+id+`","state":"pending"}`))
				}
				for _, op := range ops {
					if _, err := c.Do(context.Background(), op); err != nil {
						t.Error(err)
					}
				}
			}
			now, err := w.Revision(context.Background())
			if err != nil {
				t.Error(err)
			}
			rev.Store(now)
		}}
		s := New(Config{Prefix: prefix, Process: "own"}, own, nullLog)
		defer s.Close()
		m := following(t, s)
		eventually(t, "written", func() bool { return rev.Load() > 0 })
		if err := m.WaitFor(within(t), rev.Load()); err != nil {
			t.Fatal(err)
		}
		if got := len(m.Runs("j", Always, nil)); got != n {
			t.Errorf("got %d runs at revision %d, want %d (term %d)", got, rev.Load(), n, term.Rev)
		}
	})
}

func TestWaitForARevisionOutsideThePrefix(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		m := following(t, s)
		put(t, c, prefix+"/gate", `{"since":"2026-01-01T00:00:00Z"}`)
		catchUp(t, s, m)
		began := time.Now()
		rev := put(t, c, "/other", "x")
		if err := m.WaitFor(within(t), rev); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > probeEvery/2 {
			t.Errorf("took %v: etcd was not asked", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := m.WaitFor(ctx, rev+1000); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a revision to come: got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}
