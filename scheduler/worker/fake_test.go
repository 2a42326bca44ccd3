package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// fault is what happens to one call.
type fault int

const (
	none    fault = iota
	refused       // it has no effect, and an error
	applied       // it has its effect, and an error all the same
)

var errTrouble = errors.New("trouble with the store")

// fakeStore is a store in memory with revisions, guards and orders like the real one, and a leader's hand in it.
type fakeStore struct {
	skew   time.Duration // of the leader's clock against the worker's
	travel time.Duration // how long orders are under way
	jobRev int64         // of the definitions that orders name; 0: they name none
	mu     sync.Mutex
	rev    int64
	runs   map[string]job.Run
	jobs   map[string]job.Job
	queue  map[string]job.Order
	events map[string]job.Event
	feeds  map[int]func(job.Order)
	closed int
	// fault decides about each call: "write", "close", "run", "job", "record", "orders". Called with mu held.
	fault func(op string, run *job.Run) fault
	// refuse, if set, gives a definite refusal of a write. Called with mu held.
	refuse func(run *job.Run) error
	wrote  func(run job.Run) // told of each applied write, with mu held
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		runs: make(map[string]job.Run), jobs: make(map[string]job.Job), queue: make(map[string]job.Order),
		events: make(map[string]job.Event), feeds: make(map[int]func(job.Order)),
		fault: func(string, *job.Run) fault { return none },
	}
}

// stored is r as it comes back from a store.
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
	f.runs[run.Name()] = out
	if f.wrote != nil {
		f.wrote(out)
	}
	return out, err
}

func (f *fakeStore) CloseOrder(ctx context.Context, worker, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ft, err := f.begin(ctx, "close", nil)
	if ft != refused {
		delete(f.queue, id)
		f.closed++
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
	f.runs[r.Name()] = r
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
		f.runs[name] = r
		o.Runs = append(o.Runs, r)
		if f.jobRev > 0 {
			o.JobRevs = append(o.JobRevs, f.jobRev)
		}
	}
	f.publish(o)
	return o
}

// change rewrites a run as a leader or an API call does. With an order's worth of stop, its worker is told.
func (f *fakeStore) change(name, stopSession string, do func(job.Run) (job.Run, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := do(f.runs[name])
	if err != nil {
		return // it has moved on
	}
	f.rev++
	f.runs[name] = stored(r, f.rev)
	if stopSession != "" {
		f.publish(job.Order{ID: fmt.Sprintf("o%d", f.rev), Session: stopSession, Rev: f.rev, Stop: []string{name}})
	}
}

func (f *fakeStore) publish(o job.Order) {
	f.queue[o.ID] = o
	f.tell(o)
}

func (f *fakeStore) tell(o job.Order) {
	for _, feed := range f.feeds {
		feed(o)
	}
}

// again puts an order into the queue once more.
func (f *fakeStore) again(o job.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue[o.ID] = o
	f.tell(o)
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

// fakeSessions opens sessions that are renewed by asking for their deadline, until they are cut off.
type fakeSessions struct {
	mu       sync.Mutex
	opened   []*fakeSession
	presence job.Worker
	err      error
	opening  func() // called as each session opens
	closing  func() // called as each session is closed
	refuse   error  // of each change of the presence
}

const fakeTTL = 5 * time.Second

type fakeSession struct {
	id      string
	done    chan struct{}
	closing func() // may be nil

	mu     sync.Mutex
	cut    time.Time // since when it is not renewed
	closed bool
	taken  bool
}

func (f *fakeSessions) Open(ctx context.Context, w job.Worker) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if f.opening != nil {
		f.opening()
	}
	s := &fakeSession{id: fmt.Sprintf("s%d", len(f.opened)+1), done: make(chan struct{}), closing: f.closing}
	f.opened = append(f.opened, s)
	w.Session = s.id
	f.presence = w
	return s, nil
}

func (f *fakeSessions) Update(ctx context.Context, s Session, w job.Worker) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse == nil {
		f.presence = w
	}
	return f.refuse
}

func (f *fakeSessions) refuseUpdates(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = err
}

// shown is what others see of the worker.
func (f *fakeSessions) shown() job.Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.presence
}

func (f *fakeSessions) last() *fakeSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.opened) == 0 {
		return nil
	}
	return f.opened[len(f.opened)-1]
}

func (s *fakeSession) ID() string            { return s.id }
func (s *fakeSession) Done() <-chan struct{} { return s.done }

func (s *fakeSession) Taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

func (s *fakeSession) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut.IsZero() {
		return time.Now().Add(fakeTTL)
	}
	return s.cut.Add(fakeTTL)
}

func (s *fakeSession) Close(context.Context) error {
	if s.closing != nil {
		s.closing()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *fakeSession) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// lose ends the session, known to its owner.
func (s *fakeSession) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
}

// rob ends the session as another process of the worker's name does.
func (s *fakeSession) rob() {
	s.mu.Lock()
	s.taken = true
	s.mu.Unlock()
	s.lose()
}

// cutOff ends the renewals.
func (s *fakeSession) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = time.Now()
}

// fakeExecutor executes by a function and remembers what it was asked.
type fakeExecutor struct {
	do func(ctx context.Context, req executor.Request) job.Outcome

	mu       sync.Mutex
	requests []executor.Request
	now, max int // executing at a time
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

func (f *fakeExecutor) asked() []executor.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// lasting executes for d, or until it is interrupted.
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

// rig is a worker with fakes around it.
type rig struct {
	t        *testing.T
	store    *fakeStore
	sessions *fakeSessions
	exec     *fakeExecutor
	cfg      Config
	log      hclog.Logger // nil: the test's
	journal  *Journal
	w        *Worker
	stop     context.CancelFunc
	done     chan error // what Run has returned
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

// start runs the worker until the test ends, with the journal in the data directory.
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
	r.w = New(r.cfg, r.store, r.sessions, r.exec, journal, r.log)
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

// finish ends the worker and waits for it.
func (r *rig) finish() error {
	r.t.Helper()
	r.stop()
	err := <-r.done
	close(r.done)
	return err
}

// session is the worker's present session.
func (r *rig) session() *fakeSession { return r.sessions.last() }

// give arms runs for the worker's session.
func (r *rig) give(names ...string) job.Order {
	return r.store.give(r.cfg.Name, r.session().id, names...)
}

// one creates a run of job backup that is due, and gives it to the worker.
func (r *rig) one() (string, job.Order) {
	name := r.store.pending("backup", "a", time.Now())
	return name, r.give(name)
}

// wantState fails the test unless the run is in the state.
func (r *rig) wantState(name string, want job.State) job.Run {
	r.t.Helper()
	got := r.store.get(name)
	if got.State != want {
		r.t.Fatalf("run %s is %s (%s), want %s", name, got.State, got.Reason, want)
	}
	return got
}

// wantBeginning fails the test unless the only run is claimed minLead before it has waited for so long, and begins then.
func (r *rig) wantBeginning(name string, wait time.Duration) {
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

// wantExecutions fails the test unless so many attempts were executed.
func (r *rig) wantExecutions(want int) []executor.Request {
	r.t.Helper()
	got := r.exec.asked()
	if len(got) != want {
		r.t.Fatalf("executed %d attempts, want %d", len(got), want)
	}
	return got
}

// wantJournal fails the test unless the journal holds so many outcomes.
func (r *rig) wantJournal(want int) {
	r.t.Helper()
	reports, unreadable := r.journal.load()
	if len(unreadable) > 0 || len(reports) != want {
		r.t.Fatalf("journal holds %d outcomes and %v, want %d outcomes", len(reports), unreadable, want)
	}
}

// after lets d pass and everything settle.
func after(d time.Duration) {
	time.Sleep(d) // of the bubble's clock
	synctest.Wait()
}

// testOutput writes to the test's log.
type testOutput struct{ t *testing.T }

func (o testOutput) Write(p []byte) (int, error) {
	o.t.Logf("%s", p)
	return len(p), nil
}
