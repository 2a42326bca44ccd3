package sim

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
)

var monthJobs = flag.Int("sim.month", 0, "replay a month of so many jobs; 0: a day of a few, with a shorter history")

// month is a long time under one leader after the other. Its worker executes each run at once. It has neither leases nor
// faults, so that the test can have many runs.
type month struct {
	t      *testing.T
	jobs   int
	length time.Duration
	keep   planner.Retention
	away   time.Duration // interval between two times without a leader

	client *clientv3.Client
	store  *store.Store
	worker *store.Store
	ended  int // number of runs; only the worker's goroutine uses it
}

const (
	absence   = 10 * time.Minute // length of a time without a leader
	monthRuns = 20               // failing runs in a hundred
	keySize   = 1 << 10          // most bytes of a key and its value, on average
)

// TestStoreStaysBounded runs jobs that are due every minute, and checks that the store does not grow without bound.
func TestStoreStaysBounded(t *testing.T) {
	m := &month{t: t, jobs: fewJobs, length: 24 * time.Hour, keep: planner.Retention{Success: 100, Failed: 50, MaxAge: 5 * time.Hour}, away: 2 * time.Hour}
	if *monthJobs > 0 {
		m.jobs, m.length, m.away = *monthJobs, 30*24*time.Hour, 24*time.Hour
		m.keep = planner.Retention{Success: 100, Failed: 1000, MaxAge: 7 * 24 * time.Hour} // the defaults
	}
	synctest.Test(t, func(t *testing.T) {
		m.t = t
		m.replay()
	})
}

func (m *month) replay() {
	server := mem.New(mem.Config{})
	m.client = server.Client()
	log := hclog.NewNullLogger()
	m.store = store.New(store.Config{Prefix: prefix, Process: "leader"}, m.client, log)
	m.worker = store.New(store.Config{Prefix: prefix, Process: "worker"}, m.client, log)
	ctx, cancel := context.WithCancel(context.Background())
	mirror := store.NewMirror(m.store)
	s := scheduler.New(planner.Config{Retention: m.keep}, m.store, mirror.Feed(), nil, time.Now, log)
	var wg sync.WaitGroup
	wg.Go(func() { _ = mirror.Follow(ctx) })
	wg.Go(func() { _ = s.Run(ctx) })
	wg.Go(func() { m.work(ctx) })
	m.define()

	end := time.Now().Add(m.length)
	wg.Go(func() { m.lead(ctx, s, mirror) })
	var sizes []size
	for time.Now().Before(end) {
		time.Sleep(m.length / 24)
		s := m.measure()
		sizes = append(sizes, s)
		if *monthJobs > 0 {
			m.t.Logf("%v to go: %d keys of %d bytes", time.Until(end), s.keys, s.bytes)
		}
	}
	cancel()
	wg.Wait()
	m.store.Close()
	m.worker.Close()
	if err := server.Close(); err != nil {
		m.t.Error(err)
	}
	m.judge(sizes)
}

func (m *month) define() {
	ctx := context.Background()
	value, err := json.Marshal(job.Worker{Name: "w", Session: "s", Capacity: 10 * m.jobs, Started: time.Now()})
	if err != nil {
		m.t.Fatal(err)
	}
	lease, err := m.client.Grant(ctx, int64(2*m.length.Seconds()))
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.client.Put(ctx, prefix+"/workers/w", string(value), clientv3.WithLease(lease.ID)); err != nil {
		m.t.Fatal(err)
	}
	for i := range m.jobs {
		spec := job.Spec{Every: job.Duration(time.Minute), Command: []string{"true"}}
		j, _ := job.Define(nil, fmt.Sprintf("job-%d", i), spec, job.Origin{Kind: job.OriginAPI}, time.Now().UTC())
		if _, err := m.store.PutJob(ctx, j); err != nil {
			m.t.Fatal(err)
		}
	}
}

// lead runs one term after the other, with times without a leader in between.
func (m *month) lead(ctx context.Context, s *scheduler.Scheduler, mirror *store.Mirror) {
	const key = prefix + "/election/1"
	for ctx.Err() == nil {
		resp, err := m.client.Put(ctx, key, "{}")
		if err != nil {
			return
		}
		term, cancel := context.WithTimeout(ctx, m.away-absence)
		if mirror.WaitFor(term, resp.Header.Revision) != nil {
			cancel()
			return
		}
		t := election.Term{Key: key, Rev: resp.Header.Revision}
		var wg sync.WaitGroup
		wg.Go(func() { m.sweep(term, t) })
		_ = s.Lead(term, t)
		cancel()
		wg.Wait()
		_, _ = m.client.Delete(context.WithoutCancel(ctx), key)
		sleep(ctx, absence)
	}
}

// sweep removes old events, as a leader does, and forgets old revisions, as etcd does.
func (m *month) sweep(ctx context.Context, t election.Term) {
	for ctx.Err() == nil {
		_, _ = m.store.SweepEvents(ctx, t, time.Now().Add(-m.keep.MaxAge)) // the next sweep removes the rest
		if rev, err := m.store.Revision(ctx); err == nil {
			_, _ = m.client.Compact(ctx, rev)
		}
		sleep(ctx, sweepEvery)
	}
}

// work executes each order at once.
func (m *month) work(ctx context.Context) {
	orders := make(chan job.Order, 1<<16)
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.worker.Orders(ctx, "w", func(o job.Order) { orders <- o }) })
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-orders:
			for _, r := range o.Runs {
				wg.Go(func() { m.execute(ctx, r) })
			}
			wg.Go(func() { _ = m.worker.CloseOrder(ctx, "w", o.ID) })
			m.ended += len(o.Runs)
		}
	}
}

func (m *month) execute(ctx context.Context, r job.Run) {
	now := time.Now().UTC()
	claimed, err := r.Claim(r.Rev, now)
	if err == nil {
		claimed, err = m.worker.Write(ctx, claimed)
	}
	if err != nil {
		return
	}
	o := job.Outcome{State: job.Succeeded, At: now}
	if throw(1, r.Name()).IntN(100) < monthRuns {
		o.State, o.Reason = job.Failed, "exit code 1"
	}
	done, err := claimed.Finish(o)
	if err == nil {
		_, err = m.worker.Write(ctx, done)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		m.t.Errorf("run %s: %v", r.Name(), err)
	}
}

// size is the content of the store.
type size struct{ keys, bytes int }

func (m *month) measure() (s size) {
	resp, err := m.client.Get(context.Background(), prefix+"/", clientv3.WithPrefix())
	if err != nil {
		m.t.Error(err)
		return s
	}
	for _, kv := range resp.Kvs {
		s.keys++
		s.bytes += len(kv.Key) + len(kv.Value)
	}
	return s
}

// judge compares the sizes with the retention.
func (m *month) judge(sizes []size) {
	minutes := func(d time.Duration) int { return int(d / time.Minute) }
	want := (minutes(m.length) - int(m.length/m.away)*minutes(absence)) * m.jobs * 9 / 10
	if m.ended < want {
		m.t.Errorf("%d runs, want %d: too few to mean anything", m.ended, want)
	}
	// Per job: its history, definition, cursor and last order, a batch that is about to be removed, and an event for each
	// absence.
	perJob := m.keep.Success + m.keep.Failed + 3 + job.MaxDeletions + int(m.keep.MaxAge/m.away) + 2
	for i, s := range sizes {
		if s.keys > m.jobs*perJob+10 || s.bytes > m.jobs*perJob*keySize {
			m.t.Errorf("%v in, the store has %d keys of %d bytes, want at most %d keys", m.length/24*time.Duration(i+1), s.keys, s.bytes, m.jobs*perJob)
		}
	}
	first, last := sizes[len(sizes)/2], sizes[len(sizes)-1]
	if last.keys > first.keys*11/10 || last.bytes > first.bytes*11/10 {
		m.t.Errorf("the store grew from %+v to %+v in the second half", first, last)
	}
	m.t.Logf("%d jobs, %v, %d runs: half way %d keys of %d bytes, at the end %d keys of %d bytes", m.jobs, m.length, m.ended,
		first.keys, first.bytes, last.keys, last.bytes)
}
