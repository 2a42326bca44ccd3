package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Worker claims, executes and reports the attempts that leaders hand to this process.
type Worker struct {
	cfg      Config
	store    Store
	sessions Sessions
	exec     executor.Executor
	journal  *Journal // nil: outcomes that the store has not acknowledged die with the process
	log      hclog.Logger
	now      func() time.Time
	random   func() float64 // in [0,1)

	definitions definitions
	room        chan struct{} // holds a token for each attempt that executes or is being claimed
	executing   tally         // those attempts
	claims      pace
	claimed     atomic.Int64 // claims so far
	unsent      tally        // outcomes that are not yet in the store
	stuck       tally        // and those whose runs nobody can read, which the journal has
	wg          sync.WaitGroup
	table       *timetable   // starts what held runs and attempts wait for, on goroutines of wg; of Run, like the queues
	ends        *queue       // of attempts that have ended: on their way to the journal
	outbox      *queue       // of reports, on their way to the store
	life        string       // unique to one call of Run; what the processes of its attempts are marked with
	former      []string     // lives that are over, of which nothing is left; the next look at the disk forgets them
	kept        bool         // life is in the journal; of whoever looks at the disk, like former
	looking     chan error   // what a look at the disk that is under way has found; nil: none is; of checkDisk
	marks       atomic.Int64 // attempts marked so far

	suspect chan struct{}                 // holds a token while the disk is to be looked at soon
	sweep   chan struct{}                 // holds a token while old output is to be looked for soon
	unswept atomic.Int64                  // output that has come since that was begun last, in bytes as Sweep counts them
	bounds  atomic.Pointer[output.Bounds] // of the output that is kept, as of then; nil: it never was

	mu       sync.Mutex
	attempts map[*attempt]struct{} // guarded by mu: those that execute
	stopping bool                  // guarded by mu: what begins from now on is stopped at once
	disk     error                 // guarded by mu: why nothing can be written to it; nil: it takes what comes
	lacks    error                 // guarded by mu: why attempts cannot begin; nil: they can, for all that is known
}

// steady is how long a session has to last for the next one to be opened without a pause.
const steady = 5 * time.Second

// openTimeout bounds each try to open a session, and closeTimeout each farewell to the store.
const (
	openTimeout  = 10 * time.Second
	closeTimeout = 2 * time.Second
)

// How many outcomes are on their way to the journal, and to the store, at a time, and for how long the next ones make way for runs
// that are due. Until it is in the journal, an outcome dies with the process.
const (
	endsPlaces     = 4096
	endsPatience   = 100 * time.Millisecond
	outboxPlaces   = 512
	outboxPatience = 4 * time.Second
)

// New returns a worker that does nothing until Run. cfg has been validated; journal may be nil, and is the caller's to
// close after Run.
func New(cfg Config, store Store, sessions Sessions, exec executor.Executor, journal *Journal, log hclog.Logger) *Worker {
	cfg = cfg.Defaults()
	w := &Worker{
		cfg:         cfg,
		store:       store,
		sessions:    sessions,
		exec:        exec,
		journal:     journal,
		log:         log,
		now:         cfg.Now,
		random:      rand.Float64,
		definitions: definitions{read: store.Job, known: cfg.Known},
		room:        make(chan struct{}, cfg.Capacity),
		suspect:     make(chan struct{}, 1),
		sweep:       make(chan struct{}, 1),
		attempts:    make(map[*attempt]struct{}),
	}
	return w
}

// Run works until ctx ends, and then gives back what is not claimed, lets run what is for ShutdownGrace, stops
// the rest, and delivers what outcomes it can. It is called once.
//
// It returns when all that it started has ended; only an attempt that ignores being stopped is left behind, and what waits for a
// disk that does not answer, which nothing can end, and makes for an error. Outcomes that could not be delivered stay in the
// journal and are no error. Before ctx ends it returns ErrNameTaken alone.
func (w *Worker) Run(ctx context.Context) error {
	// Attempts and outcomes outlive the request to stop; life ends them.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	w.startTable(life)
	w.beginLife()
	stopNanny := w.startNanny()
	w.wg.Go(func() { w.sweepOutputs(life) })
	w.replay(life)

	w.checkDisk(ctx) // before anybody is told that we are there
	err := w.work(ctx, life)
	end(executor.ErrStopping)
	if left := w.executing.count(); left > 0 {
		return errors.Join(err, fmt.Errorf("stop worker %s: %d attempts ignore being stopped", w.cfg.Name, left))
	}
	ended := make(chan struct{})
	go func() { // waited for below, as what it waits for
		w.wg.Wait()
		close(ended)
	}()
	if !wait(context.WithoutCancel(ctx), ended, w.cfg.StopTimeout) {
		err = errors.Join(err, fmt.Errorf("stop worker %s: something does not end, such as a wait for a disk, and is left behind", w.cfg.Name))
	}
	stopNanny()
	return err
}

// startTable starts the timetable, which ends with life.
func (w *Worker) startTable(life context.Context) {
	crew := crew{wg: &w.wg, idle: make(chan func())}
	w.table = newTimetable(func(f func()) { crew.run(life, f) })
	w.ends = w.table.newQueue(endsPlaces, endsPatience)
	w.outbox = w.table.newQueue(outboxPlaces, outboxPatience)
	w.wg.Go(func() { w.table.run(life) })
}

// work goes from shift to shift until ctx ends, or another process turns out to have our name, and then drains.
func (w *Worker) work(ctx, life context.Context) error {
	pauses := newPauses()
	var taken thefts
	for ctx.Err() == nil {
		// Outcomes land before a new session shows others that the old one is over, and they judge its attempts lost.
		wait(ctx, w.unsent.empty(), w.cfg.SettleTimeout)
		s, err := w.open(ctx, life)
		if err != nil {
			w.log.Warn("session could not be opened", "err", err)
			_ = pause(ctx, pauses.NextBackOff())
			continue
		}
		opened := w.now()
		select {
		case <-s.ctx.Done():
			s.end(ctx)
			w.cfg.Observer.SessionEnded()
			if s.session.Taken() && taken.add(w.now()) {
				w.drain(w.unsent.empty)
				return fmt.Errorf("worker %s: %w", w.cfg.Name, ErrNameTaken)
			}
			if w.now().Sub(opened) > steady {
				pauses.Reset()
				continue
			}
			_ = pause(ctx, pauses.NextBackOff()) // another process may have our name
		case <-ctx.Done():
			s.retire()
			w.drain(s.holding.empty)
			s.end(ctx)
			return nil
		}
	}
	w.drain(w.unsent.empty) // nothing is held without a session
	return nil
}

// open begins a shift.
func (w *Worker) open(ctx, life context.Context) (*shift, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	session, err := w.sessions.Open(opening, w.presence())
	if err != nil {
		return nil, fmt.Errorf("open session of worker %s: %w", w.cfg.Name, err)
	}
	w.log.Info("session opened", "session", session.ID())
	s := newShift(w, session, life)
	s.begin()
	return s, nil
}

// presence is what others see of this worker.
func (w *Worker) presence() job.Worker {
	return job.Worker{
		Name: w.cfg.Name, Addr: w.cfg.Addr, Capacity: w.cfg.Capacity, Labels: w.cfg.Labels, Handlers: w.cfg.Handlers,
		Limits:  w.cfg.Limits,
		Started: w.now().UTC(), Version: w.cfg.Version, PID: os.Getpid(), Draining: w.Refuses() != nil,
	}
}

// drain ends what executes, gently and then not, and waits for the runs that are handed back and for outcomes, each
// within its bounds.
func (w *Worker) drain(handedBack func() <-chan struct{}) {
	always := context.Background()
	if n := w.executing.count(); n > 0 {
		w.log.Info("waiting for attempts to end", "executing", n, "grace", w.cfg.ShutdownGrace)
	}
	if !wait(always, w.executing.empty(), w.cfg.ShutdownGrace) {
		patience := w.stopAll()
		if !wait(always, w.executing.empty(), patience) {
			w.log.Error("attempts ignore being stopped", "executing", w.executing.count())
		}
	}
	settled := w.now().Add(w.cfg.SettleTimeout)
	wait(always, handedBack(), settled.Sub(w.now()))
	if !wait(always, w.unsent.empty(), settled.Sub(w.now())) {
		w.log.Warn("outcomes could not be delivered before stopping", "unsent", w.unsent.count())
	}
}

// stopAll stops every attempt, also those that are about to begin, and returns how long their end may take.
func (w *Worker) stopAll() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	var grace time.Duration
	for a := range w.attempts {
		grace = max(grace, a.spec.KillGrace.Std())
		a.cancel(executor.ErrStopping)
	}
	return grace + w.cfg.StopTimeout
}

// count moves one of the worker's tallies and tells the observer.
func (w *Worker) count(t *tally, d int) {
	t.add(d)
	w.cfg.Observer.Load(w.executing.count(), w.unsent.count()+w.stuck.count())
}

// wait waits until done is closed, at most for limit and as long as ctx lasts, and says whether it is.
func wait(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done: // however short the limit
		return true
	default:
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// mark returns the mark of the next attempt's processes.
func (w *Worker) mark() string { return w.life + "." + strconv.FormatInt(w.marks.Add(1), 10) }

// fenced says whether cause is the end of a session.
func fenced(cause error) bool { return errors.Is(cause, executor.ErrFenced) }
