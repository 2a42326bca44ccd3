package store

import (
	"context"
	"errors"
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

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/ports"
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

// catchUp waits until m has everything.
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

// reader plays a feed back.
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
				if got := len(m.Runs("", nil)); got != len(want) {
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

func TestAMirrorOfAMemberThatIsCutOffIsNotCurrent(t *testing.T) {
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

// slowWatches is a watcher that does something before it opens a watch.
type slowWatches struct {
	clientv3.Watcher
	before func()
}

func (w slowWatches) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	w.before()
	return w.Watcher.Watch(ctx, key, opts...)
}

func TestARevisionIsReachedOnlyWhenAllUpToItIsIn(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		const n = 3500 // more than etcd sends in one response to a watch that has to catch up
		w := open(t, c)
		term := reign(t, c, "a")
		own := clientv3.NewCtxClient(context.Background()) // between list and watch, a lot happens
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
		if got := len(m.Runs("j", nil)); got != n {
			t.Errorf("got %d runs at revision %d, want %d (term %d)", got, rev.Load(), n, term.Rev)
		}
	})
}

func TestWaitForAKeyThatIsNotOurs(t *testing.T) {
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
			t.Errorf("took %v: nobody asked etcd", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := m.WaitFor(ctx, rev+1000); err != context.DeadlineExceeded {
			t.Errorf("a revision to come: got %v, want %v", err, context.DeadlineExceeded)
		}
	})
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
		if !slices.IsSortedFunc(kvs, func(a, b *mvccpb.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) }) {
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

func TestWhatNobodyCanReadIsSetAside(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	good := definition("good")
	if _, err := s.PutJob(within(t), good); err != nil {
		t.Fatal(err)
	}
	id := slot("j", 1).ID
	values := map[string]string{
		"empty": "", "garbage": "\x00\xff{", "null": "null", "a list": "[1]", "a number": "7", "an empty object": "{}",
		"huge":           `{"name":"` + strings.Repeat("x", maxRecord) + `"}`,
		"another record": `{"id":"e","kind":"skipped","job":"x","at":"2026-01-01T00:00:00Z","reason":"r"}`,
		"a later state":  `{"job":"j","id":"` + id + `","state":"dreaming"}`,
		"deep":           strings.Repeat("[", 20_000),
	}
	keys := []string{
		"jobs/j", "jobs/NOT A NAME", "jobs/a/b", "cursors/j", "runs/j/" + id, "runs/j", "runs/j/a/b", "workers/w", "replicas/r",
		"election/x", "events/j/e", "events/x", "queues/w/o", "gate", "files", "takeover", "era", "tombstones/jobs/j", "gate/x", "unknown", "unknown/x", "runs/", "jobs", "/", "//", "\xff",
	}
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			for _, k := range keys {
				put(t, c, prefix+"/"+k, v)
			}
			catchUp(t, s, m)
			var got []string
			for _, b := range m.Quarantine() {
				got = append(got, strings.TrimPrefix(b.Key, prefix+"/"))
				if b.Error == "" || len(b.Error) > 500 {
					t.Errorf("%q: the reason has %d bytes", b.Key, len(b.Error))
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(keys))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("quarantine (-want +got):\n%s", diff)
			}
			if _, ok := m.Job("good"); !ok {
				t.Error("the rest does not go on")
			}
			_, _, _, _ = m.Runs("", nil), m.Jobs(), m.Workers(), m.Gate()
		})
	}
	for _, k := range keys {
		remove(t, c, prefix+"/"+k)
	}
	catchUp(t, s, m)
	if bad := m.Quarantine(); len(bad) != 0 {
		t.Errorf("after deletion: %v", bad)
	}
	if len(m.runs) != 0 {
		t.Errorf("the index of runs still has %v", m.runs)
	}
}

// TestAGateThatNobodyCanRead: what holds is what was known of it, and if nothing was, that it may be closed.
func TestAGateThatNobodyCanRead(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		m := following(t, s)
		feed := m.Feed()
		put(t, c, s.keys.job("x"), "anything")
		catchUp(t, s, m)
		check := func(what string, m *Mirror, feed *Feed, paused bool) {
			t.Helper()
			catchUp(t, s, m)
			changes := feed.Take()
			last := changes[len(changes)-1]
			gate := job.ValueOf[job.Gate](last)
			if last.Bad == nil || gate == nil || (gate.Paused != nil) != paused || (m.Gate().Paused != nil) != paused {
				t.Errorf("%s: got %+v, and the feed tells %+v; paused: want %t", what, m.Gate(), last, paused)
			}
		}
		put(t, c, s.keys.record(KindGate, ""), "garbage")
		check("there was none", m, feed, false)
		put(t, c, s.keys.record(KindGate, ""), "more garbage")
		check("it was garbage", m, feed, false)

		late := NewMirror(s)
		told := late.Feed()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = late.Follow(ctx) })
		defer wg.Wait()
		defer cancel()
		check("nobody here has read it", late, told, true)
		if p := late.Gate().Paused; p != nil && p.Reason != reasonUnreadableGate {
			t.Errorf("the reason is %q", p.Reason)
		}

		_, err := s.Gate(within(t))
		if !errors.Is(err, job.ErrUnreadable) {
			t.Fatalf("read it: got %v, want %v", err, job.ErrUnreadable)
		}
		g, _ := s.Gate(within(t))
		g.Paused = &job.Pause{Reason: "upgrade"}
		if _, err := s.PutGate(within(t), g); err != nil {
			t.Fatal(err)
		}
		put(t, c, s.keys.record(KindGate, ""), "garbage again")
		check("it was closed", m, feed, true)
		if p := m.Gate().Paused; p == nil || p.Reason != "upgrade" {
			t.Errorf("got %+v, want the pause that was known", p)
		}
	})
}

func TestTerminalRunsAreKeptWithoutTheirBulk(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	r := *slot("j", 1)
	r.State, r.Output, r.Payload, r.Spec = job.Succeeded, strings.Repeat("x", 8<<10), []byte(`{"a":1}`), &job.Spec{Shell: "x"}
	r, err := s.Submit(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	catchUp(t, s, m)
	got, ok := m.Run(r.Name())
	if !ok || got.Output != "" || got.Payload != nil || got.Spec != nil {
		t.Errorf("got %+v, want it without output, payload and spec", got)
	}
	if full, err := s.Run(within(t), r.Job, r.ID); err != nil || len(full.Output) != 8<<10 {
		t.Errorf("in the store: %d bytes of output (%v)", len(full.Output), err)
	}
}

func TestWatchTellsWhatHappenedSince(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		first := put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		second := put(t, c, prefix+"/events/j/e2", `{"id":"e2","job":"j"}`)
		ctx, cancel := context.WithCancel(t.Context())
		from, changes, err := s.Watch(ctx, first)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-changes; from != first || len(got) != 1 || got[0].Rev != second || got[0].Value.(*job.Event).ID != "e2" {
			t.Errorf("from %d: got %+v, want e2 at %d", from, got, second)
		}
		cancel()
		for range changes {
		}
		third := put(t, c, prefix+"/events/j/e3", `{"id":"e3","job":"j"}`)
		if _, err := c.Compact(within(t), third); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		watches := make(map[int64]<-chan []job.Change)
		for after, want := range map[int64]int64{first: third, third: third, third - 1: third - 1, 0: third, third + 100: third} {
			from, changes, err := s.Watch(ctx, after)
			if err != nil || from != want {
				t.Fatalf("after %d: got from %d (%v), want %d", after, from, err, want)
			}
			watches[after] = changes
		}
		fourth := put(t, c, prefix+"/events/j/e4", `{"id":"e4","job":"j"}`)
		for after, changes := range watches {
			want := []int64{fourth}
			if after == third-1 {
				want = []int64{third, fourth}
			}
			for _, rev := range want {
				if got, ok := <-changes; !ok || len(got) != 1 || got[0].Rev != rev {
					t.Errorf("after %d: got %+v, open %v, want what was written at %d", after, got, ok, rev)
				}
			}
		}
		cancel()
		for _, changes := range watches {
			for range changes {
			}
		}
	})
}

// TestADoubtedWatch: one that gets on goes on, one that does not is replaced within seconds.
func TestADoubtedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		own, c := srv.Client(), srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
		defer s.Close()
		m := NewMirror(s)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = m.Follow(ctx) })
		defer wg.Wait()
		defer cancel()
		_, changes, err := s.Watch(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		catchUp(t, s, m)
		synctest.Wait() // the mirror's watch is taken on

		s.Suspect()
		time.Sleep(2 * suspectFor)
		if n := s.Counts().Relists; n != 0 {
			t.Errorf("a doubted watch that gets on was replaced %d times", n)
		}

		time.Sleep(probeEvery / 2)
		srv.StallWatches(own)
		put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		rev := srv.Rev()
		s.Suspect()
		began := time.Now()
		if got, ok := <-changes; ok {
			t.Errorf("got %+v of a watch that is held up", got)
		}
		if err := m.WaitFor(ctx, rev); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > suspectSilence+4*suspectEvery {
			t.Errorf("doubted watches were replaced after %v", d)
		}
	})
}

func TestAWatchThatTellsNothingAnyMoreEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		own, c := srv.Client(), srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, changes, err := s.Watch(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nothing happens: that is no reason
		put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		if got, ok := <-changes; !ok || job.ValueOf[job.Event](got[0]) == nil {
			t.Fatalf("got %+v, open %t", got, ok)
		}
		srv.StallWatches(own)
		put(t, c, prefix+"/events/j/e2", `{"id":"e2","job":"j"}`)
		began := time.Now()
		if got, ok := <-changes; ok {
			t.Fatalf("got %+v of a watch that is held up", got)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("it took %v to notice", d)
		}
	})
}
