package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// fault is the result that a test gives to a call.
type fault int

const (
	none    fault = iota
	refused       // no effect, and an error
	applied       // the effect, and an error
)

var errTrouble = errors.New("trouble with the store")

// fakeStore is a store in memory with the revisions, guards and orders of the real one. Tests act as its leader.
type fakeStore struct {
	skew   time.Duration // how far the leader's clock is ahead of the worker's
	travel time.Duration // how long orders are under way
	jobRev int64         // the revision of the definition in orders; 0: none
	mu     sync.Mutex
	rev    int64
	runs   map[string]job.Run
	past   []job.Run // all records of runs, in the order of their revisions
	jobs   map[string]job.Job
	queue  map[string]job.Order
	events map[string]job.Event
	feeds  map[int]func(job.Order)
	closed int
	// fault returns the fault of a call: "write", "close", "run", "job", "record", "orders". mu is held.
	fault func(op string, run *job.Run) fault
	// refuse returns the definite refusal of a write; nil: none. mu is held.
	refuse  func(run *job.Run) error
	wrote   func(run job.Run) // receives each applied write; mu is held
	removed func(o job.Order) // called without mu after an order was removed, before the answer; nil: nothing
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		runs: make(map[string]job.Run), jobs: make(map[string]job.Job), queue: make(map[string]job.Order),
		events: make(map[string]job.Event), feeds: make(map[int]func(job.Order)),
		fault: func(string, *job.Run) fault { return none },
	}
}

// stored returns r in the form in which a store returns it.
func stored(r job.Run, rev int64) job.Run {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	var out job.Run
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	out.Rev = rev
	return out
}

func (f *fakeStore) begin(ctx context.Context, op string, run *job.Run) (fault, error) {
	if ctx.Err() != nil {
		return refused, context.Cause(ctx)
	}
	ft := f.fault(op, run)
	if ft == none {
		return none, nil
	}
	return ft, fmt.Errorf("%s: %w", op, errTrouble)
}

func (f *fakeStore) Write(ctx context.Context, run job.Run) (job.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ft, err := f.begin(ctx, "write", &run)
	if ft == refused {
		return run, err
	}
	if f.refuse != nil {
		if err := f.refuse(&run); err != nil {
			return run, err
		}
	}
	have := f.runs[run.Name()]
	if have.Rev != run.Rev || run.Rev == 0 {
		if ft == applied {
			return run, err
		}
		return have, fmt.Errorf("write: %w", job.ErrConflict)
	}
	if have.State.Terminal() {
		panic("terminal run is written: " + run.Name())
	}
	f.rev++
	out := stored(run, f.rev)
	f.keep(out)
	if f.wrote != nil {
		f.wrote(out)
	}
	return out, err
}

func (f *fakeStore) CloseOrder(ctx context.Context, worker, id string) error {
	f.mu.Lock()
	order := f.queue[id]
	ft, err := f.begin(ctx, "close", nil)
	if ft != refused {
		delete(f.queue, id)
		f.closed++
	}
	f.mu.Unlock()
	if f.removed != nil {
		f.removed(order)
	}
	return err
}

func (f *fakeStore) Run(ctx context.Context, jobName, id string) (job.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.begin(ctx, "run", nil); err != nil {
		return job.Run{}, err
	}
	r, ok := f.runs[jobName+"/"+id]
	if !ok {
		return r, job.ErrNotFound
	}
	return r, nil
}

func (f *fakeStore) Job(ctx context.Context, name string) (job.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.begin(ctx, "job", nil); err != nil {
		return job.Job{}, err
	}
	j, ok := f.jobs[name]
	if !ok {
		return j, fmt.Errorf("job %s: %w", name, job.ErrNotFound)
	}
	return j, nil
}

func (f *fakeStore) Record(ctx context.Context, ev job.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ft, err := f.begin(ctx, "record", nil)
	if ft != refused {
		f.events[ev.Job+"/"+ev.ID] = ev
	}
	return err
}

func (f *fakeStore) Orders(ctx context.Context, _ string, deliver func(job.Order)) error {
	f.mu.Lock()
	if _, err := f.begin(ctx, "orders", nil); err != nil {
		f.mu.Unlock()
		return err
	}
	orders := make(chan job.Order, 10_000)
	n := len(f.feeds)
	for f.feeds[n] != nil {
		n++
	}
	f.feeds[n] = func(o job.Order) { orders <- o }
	for _, o := range f.queue {
		orders <- o
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.feeds, n)
	}()
	for {
		select {
		case o := <-orders:
			deliver(o)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// define creates a job.
func (f *fakeStore) define(name string, spec job.Spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rev++
	f.jobs[name] = job.Job{Name: name, Generation: f.jobs[name].Generation + 1, Spec: new(spec.WithDefaults()), Rev: f.rev}
}

// pending creates a run of a job and returns its name.
func (f *fakeStore) pending(jobName, id string, due time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rev++
	r := stored(job.Run{
		Job: jobName, ID: id, Kind: job.KindScheduled, Slot: due, Due: due, State: job.Pending, Created: due,
		Generation: f.jobs[jobName].Generation,
	}, f.rev)
	f.keep(r)
	return r.Name()
}

// give arms runs for a session in one order, as a leader does, and returns the order.
func (f *fakeStore) give(worker, session string, names ...string) job.Order {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rev++
	o := job.Order{ID: fmt.Sprintf("o%d", f.rev), Session: session, Rev: f.rev}
	for _, name := range names {
		r, err := f.runs[name].Assign(&job.Worker{Name: worker, Session: session})
		if err != nil {
			panic(err)
		}
		r.Armed = time.Now().Add(f.skew - f.travel)
		r = stored(r, f.rev)
		f.keep(r)
		o.Runs = append(o.Runs, r)
		if f.jobRev > 0 {
			o.JobRevs = append(o.JobRevs, f.jobRev)
		}
	}
	f.publish(o)
	return o
}

// change rewrites a run as a leader or an API call does. If stopSession is not empty, an order asks the worker to stop
// the run.
func (f *fakeStore) change(name, stopSession string, do func(job.Run) (job.Run, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := do(f.runs[name])
	if err != nil {
		return // the run has changed meanwhile
	}
	f.rev++
	f.keep(stored(r, f.rev))
	if stopSession != "" {
		f.publish(job.Order{ID: fmt.Sprintf("o%d", f.rev), Session: stopSession, Rev: f.rev, Stop: []string{name}})
	}
}

func (f *fakeStore) publish(o job.Order) {
	f.queue[o.ID] = o
	f.deliver(o)
}

func (f *fakeStore) deliver(o job.Order) {
	for _, feed := range f.feeds {
		feed(o)
	}
}

// again puts an order into the queue once more.
func (f *fakeStore) again(o job.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue[o.ID] = o
	f.deliver(o)
}

func (f *fakeStore) get(name string) job.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[name]
}

func (f *fakeStore) queued() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}

func (f *fakeStore) eventList() []job.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.events))
}

// set changes f under its lock.
func (f *fakeStore) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}
