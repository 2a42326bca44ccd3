package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// lead plans and commits until the term ends or the context run ends. It returns the reason after the store has answered every
// commit.
func (s *Scheduler) lead(run context.Context, r leadRequest) error {
	ctx, end := context.WithCancelCause(r.ctx)
	defer end(nil)
	defer context.AfterFunc(run, func() { end(errStopped) })()

	now := s.now()
	_ = s.checkClock(now) // this term begins by the present time
	s.applyFeed(now)
	began := s.now()
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
	var inFlight flights
	var refused refusals
	for done := ctx.Done(); ; {
		now := s.now()
		if err := s.checkClock(now); err != nil {
			end(err)
		}
		for _, a := range in.take() {
			a.flight.left--
			s.resolve(a, now)
			refused.record(a.applied.Err, now)
			if errors.Is(a.applied.Err, election.ErrTermLost) {
				end(a.applied.Err)
			}
		}
		if ctx.Err() != nil {
			if n, _ := inFlight.pending(); n == 0 {
				return context.Cause(ctx)
			}
			done = nil
		} else {
			s.applyFeed(now) // not by a later reading: a slot is missed only if it is due in plan
			inFlight.add(s.plan(ctx, r.term, in, now))
		}
		pending, oldest := inFlight.pending()
		s.status.Store(&Status{
			Term: r.term.Rev, Since: began, Pending: pending, Oldest: oldest, Due: s.planner.Due(),
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
		case <-s.pings:
		case <-timer.C:
		}
	}
}

// plan commits the decisions that the planner makes for the time now.
func (s *Scheduler) plan(ctx context.Context, term election.Term, in *answers, now time.Time) *flight {
	ds := s.planner.Plan(now, planBatch)
	f := &flight{began: now, sent: s.now(), left: len(ds)}
	if len(ds) > 0 {
		s.store.Commit(ctx, term, ds, func(i int, a job.Applied) { in.add(answer{ds[i], a, f}) })
	}
	return f
}

// resolve passes an answer of the store to the planner, the observer and the log.
func (s *Scheduler) resolve(a answer, now time.Time) {
	s.planner.Resolve(a.decision, a.applied, now)
	if s.observe != nil {
		s.observe.Decided(a.decision, a.applied, a.flight.began, a.flight.sent)
	}
	switch err, d := a.applied.Err, a.decision; {
	case err == nil && d.GaveUp:
		last := d.Run.Attempts[len(d.Run.Attempts)-1]
		s.log.Warn("attempt was given up", "run", d.Run.Name(), "attempt", last.Number, "worker", last.Worker,
			"state", last.State, "reason", last.Reason)
	case err == nil && d.Stop:
		s.log.Info("worker was asked to stop a run", "run", d.Run.Name(), "worker", d.Run.Worker, "reason", d.Run.Reason)
	case err == nil:
	case errors.Is(err, job.ErrConflict): // a lost race is normal
		s.log.Debug("decision lost a race", "job", a.decision.Job)
	case errors.Is(err, election.ErrTermLost): // lead logs this once
		s.log.Debug("decision was refused", "job", a.decision.Job, "err", err)
	default:
		s.log.Warn("decision was not committed", "job", a.decision.Job, "err", err)
	}
}

// answer is a decision with the store's answer.
type answer struct {
	decision job.Decision
	applied  job.Applied
	flight   *flight
}

// answers collects the store's answers.
type answers struct {
	mu    sync.Mutex
	list  []answer      // guarded by mu
	ready chan struct{} // holds a token while list is not empty
}

func (a *answers) add(next answer) {
	a.mu.Lock()
	a.list = append(a.list, next)
	a.mu.Unlock()
	select {
	case a.ready <- struct{}{}:
	default:
	}
}

func (a *answers) take() []answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}
