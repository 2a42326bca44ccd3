package scheduler

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// Store commits decisions. done is called once for each of them, from any goroutine, also after ctx has ended.
type Store interface {
	Commit(ctx context.Context, term election.Term, ds []job.Decision, done func(i int, a job.Applied))
}

// Feed tells every change of the store, in order: first what there is, then what comes.
type Feed interface {
	Ready() <-chan struct{}
	Take() []job.Change
	// Heard is an instant, read on the monotonic clock, of which all that was in the store has been given with the Take that
	// follows; the zero time if there is none.
	Heard() time.Time
}

// Observer is told what the leader does. Its methods are called from the loop and must not block.
type Observer interface {
	// Decided is called for each decision once the store has answered.
	Decided(d job.Decision, a job.Applied, now time.Time)
}

// Scheduler keeps a planner warm while another replica leads, and acts on it while this one does.
type Scheduler struct {
	planner *planner.Planner // owned by Run
	fed     bool             // owned by Run: the planner has been told something
	store   Store
	feed    Feed
	observe Observer
	now     func() time.Time
	log     hclog.Logger

	reigns  chan reign
	stopped chan struct{} // closed when Run has returned
	status  atomic.Pointer[Status]
	misfits atomic.Pointer[map[string]error]
}

// reign is one term that Run is to act in.
type reign struct {
	ctx  context.Context // of the term
	term election.Term
	over chan error // receives from Run why the reign ended, when nothing of it is under way any more
}

// planBatch is how many decisions are asked for at a time.
const planBatch = 512

// New returns a scheduler that reads feed and writes to store. observe may be nil.
func New(cfg planner.Config, store Store, feed Feed, observe Observer, now func() time.Time, log hclog.Logger) *Scheduler {
	s := &Scheduler{
		planner: planner.New(cfg), store: store, feed: feed, observe: observe, now: now, log: log,
		reigns: make(chan reign), stopped: make(chan struct{}),
	}
	s.status.Store(&Status{})
	return s
}

// Status returns the present status.
func (s *Scheduler) Status() Status { return *s.status.Load() }

// Lead acts for term until ctx ends, the store says that the term is over, or the wall clock is set, and returns the reason
// when nothing of it is under way any more. Everything that was in the store when the term was won has to be in the feed. It may be called
// while Run runs, once at a time.
func (s *Scheduler) Lead(ctx context.Context, term election.Term) error {
	r := reign{ctx: ctx, term: term, over: make(chan error, 1)}
	select {
	case s.reigns <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stopped:
		return errStopped
	}
	return <-r.over
}

// errStopped is why a reign ends when Run does.
var errStopped = errors.New("scheduler stopped")

// Run feeds the planner until ctx ends, and returns the cause. A reign ends with it.
func (s *Scheduler) Run(ctx context.Context) error {
	defer close(s.stopped)
	for {
		s.digest()
		s.planner.Plan(s.now(), planBatch) // decides nothing, but keeps the standby warm
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.feed.Ready():
		case r := <-s.reigns:
			r.over <- s.lead(ctx, r)
		}
	}
}

// digest applies what the feed has.
func (s *Scheduler) digest() {
	heard := s.feed.Heard()
	changes := s.feed.Take()
	s.planner.Silent(time.Since(heard))
	if len(changes) == 0 {
		return
	}
	if !s.fed {
		s.fed = true
		s.planner.Expect(jobsIn(changes))
	}
	now := s.now()
	for _, c := range changes {
		s.planner.Apply(c, now)
	}
	misfits := s.planner.Misfits()
	s.misfits.Store(&misfits)
}

// jobsIn is how many definitions are among changes.
func jobsIn(changes []job.Change) (n int) {
	for i := range changes {
		if changes[i].Job != nil {
			n++
		}
	}
	return n
}

// Misfits are the jobs whose schedule nobody understands, and why: they have no slots. What it returns must not be changed.
func (s *Scheduler) Misfits() map[string]error {
	if m := s.misfits.Load(); m != nil {
		return *m
	}
	return nil
}

// settled is a decision with its answer.
type settled struct {
	decision job.Decision
	applied  job.Applied
	flight   *flight
}

// answers collects what commits call back with.
type answers struct {
	mu    sync.Mutex
	list  []settled     // guarded by mu
	ready chan struct{} // holds a token while list is not empty
}

func (a *answers) add(s settled) {
	a.mu.Lock()
	a.list = append(a.list, s)
	a.mu.Unlock()
	select {
	case a.ready <- struct{}{}:
	default:
	}
}

func (a *answers) take() []settled {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

// lead plans and commits for one term, until that is over or run ends. It returns the reason when every commit has been
// answered.
func (s *Scheduler) lead(run context.Context, r reign) error {
	ctx, end := context.WithCancelCause(r.ctx)
	defer end(nil)
	defer context.AfterFunc(run, func() { end(errStopped) })()

	s.digest()
	began := s.now()
	clocks := startClocks(began)
	s.planner.Lead(began)
	s.log.Info("leading", "term", r.term.Rev)
	defer func() {
		s.planner.Follow()
		s.status.Store(&Status{Since: s.now()})
		s.log.Info("no longer leading", "term", r.term.Rev, "reason", context.Cause(ctx))
	}()

	in := &answers{ready: make(chan struct{}, 1)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var under flights
	var refused refusals
	for done := ctx.Done(); ; {
		now := s.now()
		if err := clocks.check(now); err != nil {
			end(err)
		}
		for _, a := range in.take() {
			a.flight.left--
			s.settle(a, now)
			refused.note(a.applied.Err, now)
			if errors.Is(a.applied.Err, election.ErrTermLost) {
				end(a.applied.Err)
			}
		}
		if ctx.Err() != nil {
			if under.count() == 0 {
				return context.Cause(ctx)
			}
			done = nil
		} else {
			s.digest()
			under.add(s.plan(ctx, r.term, in, now))
		}
		s.status.Store(&Status{
			Term: r.term.Rev, Since: began, Pending: under.count(), Asked: under.oldest(), Due: s.planner.Due(),
			Refused: refused.since, RefusedLast: refused.last, Load: s.planner.Load(), Breakers: s.planner.Breakers(),
		})
		if next, ok := s.planner.Next(); ok && done != nil {
			timer.Reset(max(0, next.Sub(s.now())))
		} else {
			timer.Stop()
		}
		select {
		case <-done:
		case <-in.ready:
		case <-s.feed.Ready():
		case <-timer.C:
		}
	}
}

// plan commits what there is to do now.
func (s *Scheduler) plan(ctx context.Context, term election.Term, in *answers, now time.Time) *flight {
	ds := s.planner.Plan(now, planBatch)
	f := &flight{asked: now, left: len(ds)}
	if len(ds) > 0 {
		s.store.Commit(ctx, term, ds, func(i int, a job.Applied) { in.add(settled{ds[i], a, f}) })
	}
	return f
}

func (s *Scheduler) settle(a settled, now time.Time) {
	s.planner.Settle(a.decision, a.applied, now)
	if s.observe != nil {
		s.observe.Decided(a.decision, a.applied, now)
	}
	switch err, d := a.applied.Err, a.decision; {
	case err == nil && d.GaveUp:
		last := d.Run.Attempts[len(d.Run.Attempts)-1]
		s.log.Warn("attempt was given up", "run", d.Run.Name(), "attempt", last.Number, "worker", last.Worker, "state", last.State, "reason", last.Reason)
	case err == nil && d.Stop:
		s.log.Info("worker was told to stop a run", "run", d.Run.Name(), "worker", d.Run.Worker, "reason", d.Run.Reason)
	case err == nil:
	case errors.Is(err, job.ErrConflict): // losing a race is normal
		s.log.Debug("decision was overtaken", "job", a.decision.Job)
	case errors.Is(err, election.ErrTermLost): // one line tells of it, when the reign ends
		s.log.Debug("decision was refused", "job", a.decision.Job, "err", err)
	default:
		s.log.Warn("decision was not committed", "job", a.decision.Job, "err", err)
	}
}
