package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// Store commits decisions. It calls done once for each of them, from any goroutine, even after ctx has ended.
type Store interface {
	Commit(ctx context.Context, term election.Term, ds []job.Decision, done func(i int, a job.Applied))
}

// Feed delivers every change of the store in order: first the present content, then each change.
type Feed interface {
	// Ready returns a channel that receives a value when Take has changes to return.
	Ready() <-chan struct{}
	// Take returns the changes since the last call.
	Take() []job.Change
	// Heard returns an instant, by the monotonic clock. After the next Take, the feed has delivered everything that was in the
	// store at that instant. Zero means that there is no such instant yet.
	Heard() time.Time
}

// Observer observes the leader. The loop calls its methods, so they must not block.
type Observer interface {
	// Decided is called for each decision once the store has answered. The planner began to decide at began, and the decision was
	// sent to the store at sent.
	Decided(d job.Decision, a job.Applied, began, sent time.Time)
}

// Scheduler keeps a planner up to date while another replica leads. While this replica leads, it commits the planner's
// decisions.
type Scheduler struct {
	planner *planner.Planner // owned by Run
	fed     bool             // owned by Run: the planner has received changes
	clocks  clocks           // owned by Run: at the last check
	store   Store
	feed    Feed
	observe Observer
	now     func() time.Time
	log     hclog.Logger

	requests chan leadRequest
	pings    chan struct{} // a value that the loop takes proves that the loop turns
	stopped  chan struct{} // closed when Run has returned
	status   atomic.Pointer[Status]
	invalid  atomic.Pointer[map[string]error]
}

// leadRequest asks Run to lead for one term.
type leadRequest struct {
	ctx  context.Context // the context of the term
	term election.Term
	over chan error // receives the reason why leading ended, once no decision is under way
}

// planBatch is how many decisions the planner returns at a time.
const planBatch = 512

// New returns a scheduler that reads feed and writes to store. observe may be nil.
func New(cfg planner.Config, store Store, feed Feed, observe Observer, now func() time.Time, log hclog.Logger) *Scheduler {
	s := &Scheduler{
		planner: planner.New(cfg), store: store, feed: feed, observe: observe, now: now, log: log,
		requests: make(chan leadRequest), pings: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.status.Store(&Status{})
	return s
}

// Status returns the present status.
func (s *Scheduler) Status() Status { return *s.status.Load() }

// Ping returns nil when the loop has taken a turn, or has ended. It returns an error if ctx ends first: the loop hangs.
func (s *Scheduler) Ping(ctx context.Context) error {
	select {
	case s.pings <- struct{}{}:
	case <-s.stopped:
	case <-ctx.Done():
		return fmt.Errorf("ping the scheduler's loop: %w", context.Cause(ctx))
	}
	return nil
}

// InvalidSchedules returns the jobs whose schedule cannot be parsed, and why. They have no slots. The map must not be
// changed.
func (s *Scheduler) InvalidSchedules() map[string]error {
	if m := s.invalid.Load(); m != nil {
		return *m
	}
	return nil
}

// Lead leads for term and returns the reason why it ended: ctx has ended, the store says that the term is over, or the wall
// clock was set. It returns after the store has answered all decisions.
//
// Before the call, the feed must have everything that was in the store when this replica won the term. Lead may be called while
// Run runs, once at a time.
func (s *Scheduler) Lead(ctx context.Context, term election.Term) error {
	r := leadRequest{ctx: ctx, term: term, over: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.stopped:
		return errStopped
	}
	return <-r.over
}

// errStopped is the result of Lead if Run has ended.
var errStopped = errors.New("scheduler stopped")

// Run feeds the planner until ctx ends, and returns the cause. If a Lead is under way then, it ends too.
func (s *Scheduler) Run(ctx context.Context) error {
	defer close(s.stopped)
	s.clocks = readClocks(s.now())
	for {
		now := s.now()
		_ = s.checkClock(now)
		s.applyFeed(now)
		s.planner.Plan(now, planBatch) // decides nothing, but keeps the follower's timers up to date
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.feed.Ready():
		case <-s.pings:
		case r := <-s.requests:
			r.over <- s.lead(ctx, r)
		}
	}
}

// applyFeed applies the changes that the feed has at the time now.
func (s *Scheduler) applyFeed(now time.Time) {
	heard := s.feed.Heard()
	changes := s.feed.Take()
	s.planner.SetFeedLag(time.Since(heard))
	if len(changes) == 0 {
		return
	}
	if !s.fed {
		s.fed = true
		jobs := 0
		for i := range changes {
			if changes[i].Kind == job.RecordJob {
				jobs++
			}
		}
		s.planner.Grow(jobs)
	}
	for _, c := range changes {
		s.planner.Apply(c, now)
	}
	invalid := s.planner.InvalidSchedules()
	s.invalid.Store(&invalid)
}
