package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// requestStop stops the run called name. rev is the revision at which the stop was requested. Worker.mu is held.
func (s *shift) requestStop(name string, rev int64) {
	if r := s.armed[name]; r != nil && rev > r.latest.run.Rev {
		r.stopRev = rev
		r.interruptWait(errStopped)
	}
	for a := range s.w.attempts {
		if a.name == name {
			s.w.wg.Go(func() { s.w.confirmStop(a) })
		}
	}
}

// confirmAll ends the attempts that a leader has given up.
func (s *shift) confirmAll() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.backs.Add(1)
	for a := range s.w.attempts {
		s.w.wg.Go(func() { s.w.confirmStop(a) })
	}
}

// confirmStop ends an attempt if its record says so. The record decides, since the write that an order announces may have
// failed.
func (w *Worker) confirmStop(a *attempt) {
	delays := newBackoff()
	for {
		record, err := w.store.Run(a.ctx, a.run.Job, a.run.ID)
		switch {
		case err == nil && record.State == job.Running && record.Token == a.run.Token:
			switch {
			case record.Cancel != nil:
				a.cancel(executor.ErrCanceled)
			case record.Reason == policy.Overdue: // by the leader's clock; this machine may have been suspended, or its clock set
				a.cancel(executor.ErrTimeout)
			}
			return
		case err == nil, errors.Is(err, job.ErrNotFound): // the leader gave the attempt up
			if a.outlivesSession() {
				a.cancel(executor.ErrFenced)
			} else {
				a.fence()
			}
			return
		}
		w.log.Debug("stop request is not confirmed yet", "run", a.name, "err", err)
		if sleep(a.ctx, min(delays.NextBackOff(), time.Second)) != nil {
			return
		}
	}
}

// awaitEarlier makes a start after the attempts of its run that still execute here, and ends these. A leader has given them up, and
// this worker has not noticed it yet. Worker.mu is held.
func (w *Worker) awaitEarlier(a *attempt) {
	if !slices.ContainsFunc(a.run.Attempts, func(e job.Attempt) bool { return e.GivenUp && e.Worker == w.cfg.Name }) {
		return
	}
	for other := range w.attempts {
		if other.name == a.name {
			other.fence()
			if other.over == nil {
				other.over = make(chan struct{})
			}
			a.earlier = append(a.earlier, other.over)
		}
	}
}

// kill ends the attempt because its session is over. Worker.mu is held.
func (a *attempt) kill() {
	if !a.killed {
		a.killed = true
		a.shift.killed.add(1)
		a.fence()
	}
}

// lostWithin reports whether the session of the attempt ended before its timeout passed, although the timeout ended ctx. A machine
// that was suspended notices both at once. If the leader called the attempt overdue, the timeout has not passed here.
func (a *attempt) lostWithin(ctx context.Context, timeout time.Duration) bool {
	plain := context.Cause(ctx) == executor.ErrTimeout //nolint:errorlint // a missing heartbeat wraps it
	if !plain || a.outlivesSession() {
		return false
	}
	end := a.began.Add(timeout)
	return !a.shift.w.now().Before(end) && a.shift.session.Deadline().Before(end)
}

// fenced reports whether cause says that the session has ended.
func fenced(cause error) bool { return errors.Is(cause, executor.ErrFenced) }

// drain waits until the executing attempts have ended, and stops them after ShutdownGrace. Then it waits for the recalled runs
// and for the outcomes, each for a bounded time. recalled returns a channel that is closed when no assigned run is left.
func (w *Worker) drain(recalled func() <-chan struct{}) {
	always := context.Background()
	if n := w.executing.count(); n > 0 {
		w.log.Info("waiting for attempts to end", "executing", n, "grace", w.cfg.ShutdownGrace.String())
	}
	if !wait(always, w.executing.empty(), w.cfg.ShutdownGrace) {
		limit := w.stopAll()
		if !wait(always, w.executing.empty(), limit) {
			w.mu.Lock()
			left := len(w.attempts) // without the runs whose claims the store has not answered
			w.mu.Unlock()
			if left > 0 {
				w.log.Error("attempts ignore being stopped", "executing", left)
			}
		}
	}
	deadline := w.now().Add(settleTimeout)
	wait(always, recalled(), deadline.Sub(w.now()))
	// An attempt whose claim was answered after stopAll ends without a start.
	wait(always, w.executing.empty(), min(executor.HurryGrace, deadline.Sub(w.now())))
	if !wait(always, w.unsent.empty(), deadline.Sub(w.now())) {
		w.log.Warn("outcomes could not be delivered before stopping", "unsent", w.unsent.count())
	}
}

// hurryUp cancels all attempts and makes them hurry up, at the end of the worker.
func (w *Worker) hurryUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := range w.attempts {
		a.hurryUp()
		a.cancel(executor.ErrStopping)
	}
}

// stopAll stops every attempt, including those that have not started. It returns how long they may take to end.
func (w *Worker) stopAll() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	var grace time.Duration
	for a := range w.attempts {
		grace = max(grace, a.spec.KillGrace.Std())
		a.cancel(executor.ErrStopping)
	}
	return grace + w.cfg.stopTimeout
}
