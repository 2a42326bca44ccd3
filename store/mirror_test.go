package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
)

// following returns a mirror that follows until the test ends.
func following(t testing.TB, s *Store) *Mirror {
	m := NewMirror(s)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.Follow(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return m
}

// stopped returns a mirror that has the present state of the store, and follows it no more.
func stopped(t testing.TB, s *Store) *Mirror {
	t.Helper()
	m := NewMirror(s)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.Follow(ctx) })
	catchUp(t, s, m)
	cancel()
	wg.Wait()
	return m
}

// catchUp waits until m has every change that the store has.
func catchUp(t testing.TB, s *Store, m *Mirror) {
	t.Helper()
	rev, err := s.Revision(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WaitFor(within(t), rev); err != nil {
		t.Fatal(err)
	}
}

// names lists the records that m has of a kind.
func names(m *Mirror, kind Kind) (out []string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for name := range m.records[kind] {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// reader reads a feed, and keeps the revisions of the records that exist.
type reader struct {
	t    *testing.T
	feed *Feed
	last int64
	has  map[string]int64
}

func (r *reader) read() {
	for _, c := range r.feed.Take() {
		key := string(c.Kind) + "/" + c.Name
		if c.Rev < r.last {
			r.t.Errorf("%s at revision %d comes after %d", key, c.Rev, r.last)
		}
		r.last = c.Rev
		if old := r.has[key]; old != 0 && old == c.Rev {
			r.t.Errorf("%s at revision %d comes twice", key, c.Rev)
		}
		if c.Deleted() {
			delete(r.has, key)
		} else {
			r.has[key] = c.Rev
		}
	}
}

func TestAFeedHasNoGapAndNothingTwice(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		var wg sync.WaitGroup
		write := func(from, to int) {
			for n := from; n < to; n++ {
				commit(t, s, term, fire(slot(fmt.Sprint("j", n), 1), 0))
			}
		}
		write(0, 30)
		m := NewMirror(s)
		early := &reader{t: t, feed: m.Feed(), has: make(map[string]int64)}
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { _ = m.Follow(ctx) })
		defer wg.Wait()
		defer cancel()
		var writing sync.WaitGroup
		writing.Go(func() { write(30, 200) })
		eventually(t, "begun", func() bool { return len(names(m, KindRuns)) > 40 })
		late := &reader{t: t, feed: m.Feed(), has: make(map[string]int64)}
		writing.Wait()
		remove(t, c, s.keys.cursor("j7"))
		catchUp(t, s, m)
		early.read()
		late.read()
		if len(early.has) != 399 || !cmp.Equal(early.has, late.has) {
			t.Errorf("got %d and %d records, want 399: %s", len(early.has), len(late.has), cmp.Diff(early.has, late.has))
		}
		m.Unfeed(late.feed)
		write(200, 201)
		catchUp(t, s, m)
		select {
		case <-late.feed.Ready():
			if len(late.feed.Take()) > 0 {
				t.Error("a feed goes on after Unfeed")
			}
		default:
		}
	})
}

func TestAMirrorSurvivesTheEndsOfItsWatch(t *testing.T) {
	for name, disturb := range map[string]struct {
		relists bool
		do      func(srv *mem.Server, own, other *clientv3.Client, change func())
	}{
		"compaction at head while the watch is held up": {true, func(srv *mem.Server, own, other *clientv3.Client, change func()) {
			srv.StallWatches(own)
			change()
			_, _ = other.Compact(context.Background(), srv.Rev())
			srv.ResumeWatches(own)
		}},
		"compaction below head": {false, func(srv *mem.Server, own, other *clientv3.Client, change func()) {
			change()
			_, _ = other.Compact(context.Background(), srv.Rev())
		}},
		"the watch is closed": {true, func(srv *mem.Server, own, _ *clientv3.Client, change func()) {
			srv.CompactWatches(own)
			change()
		}},
		"the network is cut for a while": {false, func(srv *mem.Server, own, _ *clientv3.Client, change func()) {
			srv.Cut(own)
			change()
			srv.Heal(own)
		}},
		"the watch is silent": {true, func(srv *mem.Server, own, _ *clientv3.Client, change func()) {
			srv.StallWatches(own)
			change()
			time.Sleep(20 * time.Second)
		}},
		"the network is cut for long": {false, func(srv *mem.Server, own, _ *clientv3.Client, change func()) {
			srv.Cut(own)
			change()
			time.Sleep(time.Hour)
			srv.Heal(own)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := mem.New(mem.Config{})
				defer srv.Close()
				own, c := srv.Client(), srv.Client()
				s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
				defer s.Close()
				w := New(Config{Prefix: prefix, Process: "q"}, c, nullLog)
				defer w.Close()
				m := NewMirror(s)
				r := &reader{t: t, feed: m.Feed(), has: make(map[string]int64)}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() { _ = m.Follow(ctx) })
				defer wg.Wait()
				defer cancel()

				for n := range 10 {
					if _, err := w.Submit(ctx, *slot("j", n)); err != nil {
						t.Fatal(err)
					}
				}
				put(t, c, prefix+"/strange", "x")
				put(t, c, s.keys.job("bad"), "garbage")
				synctest.Wait()
				disturb.do(srv, own, c, func() {
					for n := range 5 {
						remove(t, c, s.keys.run("j", slot("j", n).ID))
					}
					put(t, c, s.keys.run("j", slot("j", 6).ID), `{"job":"j","id":"`+slot("j", 6).ID+`","state":"canceled"}`)
					remove(t, c, prefix+"/strange")
					remove(t, c, s.keys.job("bad"))
					for n := 8; n < 12; n++ {
						put(t, c, s.keys.run("k", slot("k", n).ID), `{"job":"k","id":"`+slot("k", n).ID+`","state":"pending"}`)
					}
				})
				time.Sleep(2 * time.Second)
				synctest.Wait()
				r.read()
				resp, err := c.Get(ctx, prefix+"/runs/", clientv3.WithPrefix())
				if err != nil {
					t.Fatal(err)
				}
				want := make(map[string]int64)
				for _, kv := range resp.Kvs {
					want[strings.TrimPrefix(string(kv.Key), prefix+"/")] = kv.ModRevision
				}
				if diff := cmp.Diff(want, r.has); diff != "" {
					t.Errorf("feed (-want +got):\n%s", diff)
				}
				if got := len(m.RunsThat(all)); got != len(want) {
					t.Errorf("got %d runs, want %d", got, len(want))
				}
				if bad := m.Quarantine(); len(bad) != 0 {
					t.Errorf("still in quarantine: %v", bad)
				}
				if got := s.Counts().Relists; (got > 0) != disturb.relists {
					t.Errorf("got %d relists, want some: %v", got, disturb.relists)
				}
			})
		})
	}
}

func TestAListComesInPages(t *testing.T) {
	t.Parallel()
	const n = 20_000
	fill := func(t *testing.T, c *clientv3.Client, keys Keys) {
		for i := 0; i < n; i += 100 {
			var ops []clientv3.Op
			for j := i; j < i+100; j++ {
				id := slot("j", j).ID
				ops = append(ops, clientv3.OpPut(keys.run("j", id), `{"job":"j","id":"`+id+`","state":"skipped","reason":"`+strings.Repeat("x", 1000)+`"}`))
			}
			if _, err := c.Txn(within(t)).Then(ops...).Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		fill(t, c, s.keys)
		put(t, c, prefix+"0", "after the prefix")
		kvs, rev, err := s.list(within(t), s.keys.All())
		if err != nil || len(kvs) != n || rev == 0 {
			t.Fatalf("got %d keys at %d (%v), want %d", len(kvs), rev, err, n)
		}
		if !slices.IsSortedFunc(kvs, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) }) {
			t.Error("the keys are out of order, so some came twice")
		}
	}
	t.Run("mem", func(t *testing.T) {
		var pages atomic.Int64
		c := fake(t, mem.FaultFunc(func(op mem.Op) mem.Verdict {
			if op.Kind == mem.Range {
				pages.Add(1)
			}
			return mem.Verdict{}
		})).Client()
		check(t, c)
		if got := pages.Load(); got < 3 || got > 10 {
			t.Errorf("got %d pages, want a few", got)
		}
	})
	t.Run("etcd", func(t *testing.T) { check(t, etcd(t, embedded.Config{NoSync: true}).Client()) })
}
