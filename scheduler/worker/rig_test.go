package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// fakeExecutor executes attempts with a function and remembers the requests.
type fakeExecutor struct {
	do    func(ctx context.Context, req executor.Request) job.Outcome
	ahead executor.Prepared // what is prepared for each attempt; nil: nothing

	mu       sync.Mutex
	requests []executor.Request
	now, max int // attempts that execute now, and the most at a time
}

func (f *fakeExecutor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	f.mu.Lock()
	f.requests = append(f.requests, req)
	f.now++
	f.max = max(f.max, f.now)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.mu.Unlock()
	}()
	return f.do(ctx, req)
}

func (f *fakeExecutor) Prepare(*job.Spec) executor.Prepared { return f.ahead }

func (f *fakeExecutor) asked() []executor.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// lasting returns a function that executes an attempt for d, or until its context ends.
func lasting(d time.Duration) func(context.Context, executor.Request) job.Outcome {
	return func(ctx context.Context, req executor.Request) job.Outcome {
		select {
		case <-time.After(d):
			fmt.Fprint(req.Output, "done")
			return job.Outcome{State: job.Succeeded, At: time.Now()}
		case <-ctx.Done():
			o, _ := executor.Interrupted(ctx, &req, time.Now())
			return o
		}
	}
}

// failing fails at once.
func failing(context.Context, executor.Request) job.Outcome {
	exit := 1
	return job.Outcome{State: job.Failed, At: time.Now(), Reason: "exit code 1", Exit: &exit, Retry: true}
}

// rig is a worker among fakes.
type rig struct {
	t        *testing.T
	store    *fakeStore
	through  Store // the worker's way to the store; nil: it calls the store itself
	sessions *fakeSessions
	exec     *fakeExecutor
	cfg      Config
	log      hclog.Logger // nil: the log of the test
	journal  *Journal
	w        *Worker
	stop     context.CancelFunc
	done     chan error // result of Run
}

func newRig(t *testing.T, do func(context.Context, executor.Request) job.Outcome) *rig {
	t.Helper()
	r := &rig{
		t: t, store: newFakeStore(), sessions: &fakeSessions{}, exec: &fakeExecutor{do: do},
		cfg: Config{Name: "w1", Capacity: 4, DataDir: t.TempDir(), ShutdownGrace: 20 * time.Second}.Defaults(),
	}
	r.store.define("backup", job.Spec{Command: []string{"backup"}})
	return r
}

// start runs the worker, with the journal in the data directory, until the test ends.
func (r *rig) start() {
	r.t.Helper()
	journal, err := OpenJournal(r.cfg.DataDir + "/journal.db")
	if err != nil {
		r.t.Fatal(err)
	}
	r.journal = journal
	ctx, stop := context.WithCancel(context.Background())
	if r.log == nil {
		r.log = hclog.New(&hclog.LoggerOptions{Output: testOutput{r.t}, Level: hclog.Debug})
	}
	var store Store = r.store
	if r.through != nil {
		store = r.through
	}
	r.w = New(r.cfg, store, r.sessions, r.exec, journal, r.log)
	w, done := r.w, make(chan error, 1)
	r.stop, r.done = stop, done
	go func() { done <- w.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err, open := <-done; open && err != nil {
			r.t.Errorf("Run() = %v", err)
		}
		if err := journal.Close(); err != nil {
			r.t.Error(err)
		}
	})
	synctest.Wait()
}

// finish stops the worker, and fails the test unless Run returns nil. It returns how long Run took to end.
func (r *rig) finish() (took time.Duration) {
	r.t.Helper()
	begun := time.Now()
	if err := r.result(); err != nil {
		r.t.Errorf("Run() = %v", err)
	}
	return time.Since(begun)
}

// result stops the worker, and returns the result of Run.
func (r *rig) result() error {
	r.stop()
	err := <-r.done
	close(r.done)
	return err
}

// session returns the worker's present session.
func (r *rig) session() *fakeSession { return r.sessions.last() }

// give assigns runs to the worker's session.
func (r *rig) give(names ...string) job.Order {
	return r.store.give(r.cfg.Name, r.session().id, names...)
}

// one creates a due run of job backup and assigns it to the worker.
func (r *rig) one() (string, job.Order) {
	name := r.store.pending("backup", "a", time.Now())
	return name, r.give(name)
}

// wantState fails the test unless the run is in state want.
func (r *rig) wantState(name string, want job.State) job.Run {
	r.t.Helper()
	got := r.store.get(name)
	if got.State != want {
		r.t.Fatalf("run %s is %s (%s), want %s", name, got.State, got.Reason, want)
	}
	return got
}

// wantStart fails the test unless the only run is claimed minLead before wait has passed, and starts when wait has passed.
func (r *rig) wantStart(name string, wait time.Duration) {
	r.t.Helper()
	after(wait - minLead - time.Nanosecond)
	r.wantState(name, job.Armed)
	after(time.Nanosecond)
	r.wantState(name, job.Running)
	after(minLead - time.Nanosecond)
	r.wantExecutions(0)
	after(time.Nanosecond)
	r.wantExecutions(1)
}

// wantExecutions fails the test unless want attempts were executed.
func (r *rig) wantExecutions(want int) []executor.Request {
	r.t.Helper()
	got := r.exec.asked()
	if len(got) != want {
		r.t.Fatalf("executed %d attempts, want %d", len(got), want)
	}
	return got
}

// wantJournal fails the test unless the journal has want outcomes.
func (r *rig) wantJournal(want int) {
	r.t.Helper()
	reports, unreadable := r.journal.load()
	if len(unreadable) > 0 || len(reports) != want {
		r.t.Fatalf("journal holds %d outcomes and %v, want %d outcomes", len(reports), unreadable, want)
	}
}

// bubble runs a subtest on the clock of a bubble.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// after waits until d has passed on the clock of the bubble and all goroutines are blocked.
func after(d time.Duration) {
	time.Sleep(d) // on the clock of the bubble
	synctest.Wait()
}

// testOutput writes to the log of the test.
type testOutput struct{ t *testing.T }

func (o testOutput) Write(p []byte) (int, error) {
	o.t.Logf("%s", p)
	return len(p), nil
}
