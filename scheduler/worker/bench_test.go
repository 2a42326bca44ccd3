package worker

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// quickStore accepts each write at once. It measures what an attempt costs the worker itself.
type quickStore struct {
	rev     atomic.Int64
	job     job.Job
	deliver chan func(job.Order)
	ended   chan struct{} // receives a value for each outcome
}

func (s *quickStore) Orders(ctx context.Context, _ string, deliver func(job.Order)) error {
	s.deliver <- deliver
	<-ctx.Done()
	return ctx.Err()
}

func (s *quickStore) Write(_ context.Context, run job.Run) (job.Run, error) {
	run.Rev = s.rev.Add(1)
	if run.State.Terminal() {
		s.ended <- struct{}{}
	}
	return run, nil
}

func (s *quickStore) CloseOrder(context.Context, string, string) error { return nil }
func (s *quickStore) Run(context.Context, string, string) (job.Run, error) {
	return job.Run{}, job.ErrNotFound
}
func (s *quickStore) Replaced(context.Context, string, string, int64) (job.Run, error) {
	return job.Run{}, job.ErrNotFound
}
func (s *quickStore) Job(context.Context, string) (job.Job, error) { return s.job, nil }
func (s *quickStore) Record(context.Context, job.Event) error      { return nil }

// executed runs n attempts, most at a time, each from its order to the answer to its outcome. They start after wait. It returns
// how many allocations they took.
func executed(t testing.TB, n, most int, wait time.Duration) uint64 {
	t.Helper()
	spec := job.Spec{Handler: "x"}.WithDefaults()
	store := &quickStore{
		job:     job.Job{Name: "backup", Generation: 1, Spec: &spec, Rev: 1},
		deliver: make(chan func(job.Order)), ended: make(chan struct{}, most),
	}
	sessions := &fakeSessions{}
	exec := &quickExecutor{}
	cfg := Config{Name: "w1", Capacity: most, DataDir: t.TempDir(), Known: func(string, int64) (*job.Job, bool) { return &store.job, true }}
	w := New(cfg, store, sessions, exec, nil, hclog.NewNullLogger())
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx) })
	defer wg.Wait()
	defer stop()
	deliver := <-store.deliver
	var before, after runtime.MemStats
	for done := -most; done < n; done += most {
		if done == 0 { // the attempts before only warm it up
			runtime.ReadMemStats(&before)
		}
		deliver(orderOf(sessions.last().id, store.rev.Add(1), most, time.Now().Add(wait)))
		for range most {
			<-store.ended
		}
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// orderOf returns an order of n runs that are due at one instant.
func orderOf(session string, rev int64, n int, due time.Time) job.Order {
	o := job.Order{ID: fmt.Sprint(rev), Session: session, Rev: rev}
	now := time.Now().UTC()
	for i := range n {
		o.Runs = append(o.Runs, job.Run{
			Job: "backup", ID: fmt.Sprintf("%d-%d", rev, i), Slot: due, Due: due, Kind: job.KindScheduled, State: job.Armed,
			Created: now, Armed: now, Attempt: 1, Worker: "w1", Session: session, Generation: 1, Rev: rev,
		})
		o.JobRevs = append(o.JobRevs, 1)
	}
	return o
}

// quickExecutor succeeds at once.
type quickExecutor struct{}

func (quickExecutor) Execute(context.Context, executor.Request) job.Outcome {
	return job.Outcome{State: job.Succeeded, At: time.Now()}
}

// BenchmarkAttempt executes attempts that are due, and attempts that wait for their start. The store and the executor cost nothing.
func BenchmarkAttempt(b *testing.B) {
	for name, wait := range map[string]time.Duration{"due": 0, "ahead": 50 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			const most = 1000
			n := (b.N + most - 1) / most * most
			b.ReportMetric(float64(executed(b, n, most, wait))/float64(n), "allocs/run")
		})
	}
}

// TestAllocationsOfAnAttempt bounds the allocations of an attempt, its order included. The bounds leave room for the goroutines
// that a busy machine needs. Each allocation costs processor time twice: once to make it, and once to collect it.
func TestAllocationsOfAnAttempt(t *testing.T) {
	for _, tt := range []struct {
		name string
		wait time.Duration
		most float64
	}{
		{"due", 0, 28},
		{"that waits", 50 * time.Millisecond, 30},
	} {
		const runs = 4000
		if got := float64(executed(t, runs, 1000, tt.wait)) / runs; got > tt.most {
			t.Errorf("%s: %.1f allocations, want at most %.0f", tt.name, got, tt.most)
		} else {
			t.Logf("%s: %.1f allocations", tt.name, got)
		}
	}
}
