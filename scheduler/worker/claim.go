package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// takeRoom takes a place among the executing attempts. On success the caller owns the place and must call releaseRoom.
func (r *armedRun) takeRoom() error {
	s := r.shift
	if err := r.waitError(); err != nil {
		return err
	}
	if s.w.definitionChanged(&r.assignment) {
		return errChanged
	}
	err := r.awaitRoom()
	if r.run.Ahead && !s.w.now().Before(r.startAt) {
		r.run.Ahead = false // it is due: if it is handed back, the leader does not decide its slot again
	}
	if err != nil {
		return err
	}
	s.w.count(&s.w.executing, 1)
	err = r.waitError() // a drain ended the wait before this attempt was counted
	if back, _ := s.w.kindBack(r.spec.Kind()); err == nil && back != nil {
		err = errKindAway // it went away during the wait for a place
	}
	if err != nil {
		s.w.releaseRoom()
	}
	return err
}

// awaitRoom takes a place for the attempt of r. It waits until roomTimeout after the start of the attempt, also for the return of
// its kind. So a leader that does not know job.Worker.Away gets each run back at most once in roomTimeout. If the order came before
// the kind went away, the run does not wait: the leader may have another worker for it.
func (r *armedRun) awaitRoom() error {
	s := r.shift
	if why := s.w.refusal(); why != "" {
		return why
	}
	away, since := s.w.kindBack(r.spec.Kind())
	if away != nil && r.received.Before(since) {
		return errKindAway
	}
	if away == nil {
		select {
		case s.w.room <- struct{}{}:
			return nil
		default:
		}
	}
	ctx, stop := r.waitContext()
	defer stop()
	full := time.After(max(0, r.startAt.Sub(s.w.now())) + roomTimeout)
	if away != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-full:
			return errKindAway
		case <-away:
		}
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case s.w.room <- struct{}{}:
		return nil
	case <-full:
		return errNoRoom
	}
}

// releaseRoom frees the place of an attempt.
func (w *Worker) releaseRoom() {
	<-w.room
	w.count(&w.executing, -1)
}

// definitionChanged reports whether the definition has changed, or is gone, since the leader armed the run ahead of its time. It
// also does if all jobs were paused since. Then a leader must decide about the run again.
func (w *Worker) definitionChanged(a *assignment) bool {
	switch {
	case !a.run.Due.After(a.run.Armed):
		return false
	case w.cfg.Paused != nil && w.cfg.Paused(a.run.Rev):
		return true
	case w.cfg.Known == nil || a.jobRev == 0:
		return false
	}
	j, known := w.cfg.Known(a.run.Job, a.jobRev)
	return known && (j == nil || j.Rev > a.jobRev)
}

// claim claims the attempt for which the run was armed. The attempt takes over the caller's place among the executing attempts.
// On an error the attempt does not start, and its place is free again.
//
// The error is job.ErrConflict if the run may not be claimed. It is errReassigned if a leader has assigned the run again. If
// the session ends before the store answers, the attempt counts as claimed: it never starts, and its report says so.
func (r *armedRun) claim() (*attempt, error) {
	s := r.shift
	backs := s.backs.Load()
	claimed, err := r.writeClaim()
	if err == nil {
		return r.newAttempt(claimed, backs), nil
	}
	s.w.releaseRoom()
	if !errors.Is(err, job.ErrConflict) || !s.assigned(&claimed) || claimed.Rev <= r.run.Rev {
		return nil, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if claimed.Rev > r.latest.run.Rev {
		r.latest = r.latest.reassigned(claimed, s.w.now()) // its order is still on the way
	}
	return nil, errReassigned
}

// writeClaim writes the claim. With job.ErrConflict it returns the present record.
func (r *armedRun) writeClaim() (job.Run, error) {
	s, w := r.shift, r.shift.w
	if s.over() {
		return r.run, fmt.Errorf("claim run %s: %w", r.run.Name(), executor.ErrFenced)
	}
	sent := w.now()
	next, err := r.run.Claim(r.run.Rev, r.recordedStart(sent))
	if err != nil {
		return r.run, fmt.Errorf("claim run %s: %w", r.run.Name(), err)
	}
	next.Bound = r.spec.Bound()
	got, err := w.store.Write(s.ctx, next)
	if !definite(err) {
		next, got, err = r.claimAgain(next, err)
	}
	answered := w.now()
	w.claims.record(sent, answered)
	if err == nil && w.cfg.Tracer != nil {
		traced := got // a copy, so that got stays on the stack without a tracer
		w.cfg.Tracer.Claimed(&traced, answered.Sub(sent))
	}
	if !definite(err) { // the store may still apply the claim. The report then replaces or follows it, and fits no other attempt
		return next, nil
	}
	if errors.Is(err, job.ErrConflict) && got.State == job.Running && got.Token == next.Token && got.Started.Equal(next.Started) {
		// This claim was written: the store applied an earlier send whose answer was lost. Each claim records a different start,
		// so the record is not from another claim.
		return got, nil
	}
	return got, err
}

// claimAgain repeats a claim to which the store gave no definite answer, but the error why. A full store may refuse it for hours,
// and the attempt would be overdue when it begins. So each send records a new start, unless an earlier one may have been applied.
// claimAgain returns the claim that it sent last.
func (r *armedRun) claimAgain(next job.Run, why error) (last, got job.Run, err error) {
	s, w, first, refused := r.shift, r.shift.w, next.Started, true
	err = w.untilDefinite(s.ctx, "claim run "+r.name, func() error {
		start := r.recordedStart(w.now())
		if refused = refused && errors.Is(why, job.ErrFull) && !errors.Is(why, job.ErrOutcomeUnknown); refused {
			next.Started = start
		}
		// A leader counts the bound from the first send. If it has not seen the run before, it counts from the arming.
		next.Bound = r.spec.Bound() + job.Duration(start.Sub(first))
		got, why = w.store.Write(s.ctx, next)
		return why
	})
	return next, got, err
}

// recordedStart returns the start that a claim records if it is sent now.
func (r *armedRun) recordedStart(now time.Time) time.Time {
	return recordedStart(r.startAt, now, r.shift.w.claimed.Add(1)-1)
}
