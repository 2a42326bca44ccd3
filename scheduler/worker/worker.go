package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

// Worker claims and executes the attempts that leaders assign to this process, and reports how they ended.
type Worker struct {
	cfg      Config
	store    Store
	sessions Sessions
	exec     executor.Executor
	journal  *Journal // nil: outcomes that are not in the store are lost with the process
	log      hclog.Logger
	now      func() time.Time
	started  time.Time      // of the process, for the presence
	random   func() float64 // returns a random number in [0,1)

	definitions definitions
	room        chan struct{} // holds a token for each attempt that executes or is being claimed
	executing   tally         // counts these attempts
	claims      claimLatency
	claimed     atomic.Int64 // the number of claims.
	unsent      tally        // counts the outcomes that are not in the store yet
	blocked     tally        // counts the outcomes in the journal whose runs have unreadable records.
	wg          sync.WaitGroup
	table       *timetable   // the timers of armed runs and attempts, on goroutines of wg; Run makes it and the queues
	ends        *queue       // the queue of ended attempts, whose outcomes go to the journal
	outbox      *queue       // the queue of reports, which go to the store.
	outputs     string       // the directory of all attempts' output
	life        string       // unique name of this call of Run, which begins the marks of its attempts' processes
	marks       atomic.Int64 // the number of marks

	// Used only by the goroutine that probes the disk.
	formerLives  []string   // earlier lives whose processes are gone: the next probe removes them from the journal
	lifeRecorded bool       // the journal has the field life.
	probing      chan error // result of the probe under way; nil: none is. Used by checkDisk.

	probeSoon chan struct{}                 // holds a token when the disk must be probed soon
	sweepSoon chan struct{}                 // holds a token when old output must be swept soon.
	unswept   atomic.Int64                  // the output since the last sweep, in bytes as output.Sweep counts them.
	bounds    atomic.Pointer[output.Bounds] // the bounds of the output at the last sweep; nil: there was none

	mu            sync.Mutex
	attempts      map[*attempt]struct{}  // guarded by mu
	ending        map[string]struct{}    // guarded by mu: runs whose attempts outlived sessions and ended, until delivery
	stopping      bool                   // guarded by mu: new attempts are stopped at once.
	diskErr       error                  // guarded by mu: why the disk cannot be written to; nil: it can
	startErr      error                  // guarded by mu: why attempts cannot start; nil: they can, as far as is known
	kinds         map[string]*kindHealth // guarded by mu: the kinds that were away
	outputTrouble string                 // guarded by mu: why output cannot be uploaded; "": it can
	pressed       string                 // guarded by mu: the resource whose pressure is too high; "": none
	pressureText  string                 // guarded by mu: that pressure when it became too high, for the presence; "": none
}

// steadySession is how long a session must last so that the next one is opened without a delay.
const steadySession = 5 * time.Second

const (
	openTimeout  = 10 * time.Second // limit for one try to open a session
	closeTimeout = 2 * time.Second  // limit for each last call to the store
)

// How many outcomes are written to the journal, and sent to the store, at a time, and how long an outcome yields to runs that
// are due. Before an outcome is in the journal, the end of the process loses it.
const (
	endsLimit   = 4096
	endsYield   = 100 * time.Millisecond
	outboxLimit = 512
	outboxYield = 4 * time.Second
)

// New returns a worker, which does nothing until Run. cfg must be valid. journal may be nil; the caller closes it after Run.
func New(cfg Config, store Store, sessions Sessions, exec executor.Executor, journal *Journal, log hclog.Logger) *Worker {
	cfg = cfg.Defaults()
	return &Worker{
		cfg:         cfg,
		store:       store,
		sessions:    sessions,
		exec:        exec,
		journal:     journal,
		log:         log,
		now:         cfg.Now,
		started:     cfg.Now().UTC(),
		random:      rand.Float64,
		definitions: definitions{read: store.Job, known: cfg.Known, now: cfg.Now, log: log},
		outputs:     cfg.outputs(),
		room:        make(chan struct{}, cfg.Capacity),
		probeSoon:   make(chan struct{}, 1),
		sweepSoon:   make(chan struct{}, 1),
		attempts:    make(map[*attempt]struct{}),
		ending:      make(map[string]struct{}),
		kinds:       make(map[string]*kindHealth),
	}
}

// Run executes runs until ctx ends. Then it hands back the runs that are not claimed, lets attempts run for ShutdownGrace,
// stops the rest, and delivers the outcomes that it can. It is called once.
//
// When it returns, all its goroutines have ended, with two exceptions: an attempt that ignores the end of its context, and a
// wait for a disk that does not answer. Both are left behind and make Run return an error. Outcomes that could not be delivered
// stay in the journal and are no error. Before ctx ends, Run returns only ErrNameTaken.
func (w *Worker) Run(ctx context.Context) error {
	// Attempts and outcomes may last longer than ctx. The end of life ends them.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	w.startTable(life)
	w.beginLife()
	stopNanny := w.startNanny()
	w.wg.Go(func() { w.sweepOutputs(life) })
	w.replay(life)

	w.checkDisk(ctx) // before the first presence, which says whether the worker accepts runs
	w.checkPressure()
	err := w.work(ctx, life)
	end(executor.ErrStopping)
	w.hurryUp()
	if !wait(context.WithoutCancel(ctx), w.executing.empty(), executor.HurryGrace) {
		return errors.Join(err, fmt.Errorf("stop worker %s: %d attempts ignore being stopped", w.cfg.Name, w.executing.count()))
	}
	ended := make(chan struct{})
	go func() { // Run waits for it below
		w.wg.Wait()
		close(ended)
	}()
	if !wait(context.WithoutCancel(ctx), ended, w.cfg.stopTimeout) {
		err = errors.Join(err, fmt.Errorf("stop worker %s: a goroutine does not end, as when a disk does not answer", w.cfg.Name))
	}
	stopNanny()
	return err
}

// startTable makes the queues and starts the timetable. The timetable ends when the context life ends.
func (w *Worker) startTable(life context.Context) {
	goroutines := &pool{wg: &w.wg}
	w.table = newTimetable(goroutines.run)
	w.ends = w.table.newQueue(endsLimit, endsYield)
	w.outbox = w.table.newQueue(outboxLimit, outboxYield)
	w.wg.Go(func() {
		w.table.run(life)
		goroutines.end()
	})
}

// work runs one shift after another until ctx ends, or until another process uses the worker's name, and then drains.
func (w *Worker) work(ctx, life context.Context) error {
	delays := newBackoff()
	var taken recentLosses
	for ctx.Err() == nil {
		// A new session shows other processes that the old one is over. Leaders then count the old attempts as lost, so their
		// outcomes must arrive first.
		wait(ctx, w.unsent.empty(), settleTimeout)
		s, err := w.openShift(ctx, life)
		if err != nil {
			w.log.Warn("session could not be opened", "err", err)
			_ = sleep(ctx, delays.NextBackOff())
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
			if w.now().Sub(opened) > steadySession {
				delays.Reset()
				continue
			}
			_ = sleep(ctx, delays.NextBackOff()) // another process may use the name
		case <-ctx.Done():
			s.drain()
			w.drain(s.unclaimed.empty)
			s.end(ctx)
			return nil
		}
	}
	w.drain(w.unsent.empty) // without a session no run is armed
	return nil
}

// openShift opens a session and starts its shift.
func (w *Worker) openShift(ctx, life context.Context) (*shift, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	shown := w.presence() // it may change while the session is opened: then the shift publishes the new one
	shown.Keeps = w.kept()
	session, err := w.sessions.Open(opening, shown)
	if err != nil {
		return nil, fmt.Errorf("open session of worker %s: %w", w.cfg.Name, err)
	}
	w.log.Info("session opened", "session", session.ID())
	s := newShift(life, w, session, shown)
	s.start()
	return s, nil
}

// count adds d to one of the worker's tallies and notifies the observer.
func (w *Worker) count(t *tally, d int) {
	t.add(d)
	w.cfg.Observer.Load(w.executing.count(), w.unsent.count()+w.blocked.count())
}
