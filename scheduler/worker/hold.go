package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// hold is a run that was given to this worker and has not begun.
type hold struct {
	// Guarded by w.mu.
	given                             // last
	crowd     int64                   // the instant that it was first given for, as the shift counts them
	orders    []string                // that hold it
	stopped   int64                   // revision of the latest request to stop it
	interrupt context.CancelCauseFunc // ends its waiting, never its claim; nil before it waits
}

// wake ends h's waiting, if it has begun; what has not begun sees for itself. w.mu is held.
func (h *hold) wake(cause error) {
	if h.interrupt != nil {
		h.interrupt(cause)
	}
}

// refusal is why a held run is handed back, as its record says it.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errRetiring refusal = "worker is stopping"
	errStopped  refusal = "stopped before it began"
	errNoRoom   refusal = "worker has no room"
	errNoSpec   refusal = "worker could not read its definition"
	errChanged  refusal = "the job was changed"
	errNoDisk   refusal = "worker's disk takes nothing"
	errLacks    refusal = "worker's machine lacks what it takes to begin it"
)

// errRearmed is returned when a held run has been given to us anew.
var errRearmed = errors.New("given anew")

// definitionTimeout is how long the definition of a run's job may take to be read before the run is handed back.
const definitionTimeout = 5 * time.Second

// attend brings a held run to its claim, or hands it back. The attempt, if there is one, is the caller's to perform.
func (s *shift) attend(h *hold) (a *attempt) {
	defer s.holding.add(-1)
	for {
		waiting, given := s.renew(h)
		run := &given.run
		spec, begins, err := s.ready(waiting, &given)
		if err == nil {
			a, err = s.claim(h, run, spec, begins)
		}
		var why refusal
		switch {
		case s.ctx.Err() != nil, fenced(err), err == nil, errors.Is(err, errRearmed):
		case errors.Is(err, job.ErrConflict), errors.Is(err, job.ErrUnreadable): // it was changed by somebody else, as is anybody's right
			s.w.log.Debug("run was changed before it began", "run", run.Name(), "attempt", run.Attempt, "err", err)
			s.w.cfg.Observer.Conflicted(run)
		case errors.Is(err, job.ErrNotFound):
			s.cancelDeleted(*run)
		case errors.As(err, &why):
			s.recall(*run, string(why))
		default:
			s.w.log.Error("run cannot begin", "run", run.Name(), "attempt", run.Attempt, "err", err)
		}
		if s.release(h, run.Rev) {
			return a
		}
		if a != nil { // given anew while we heard that it is ours: that is another attempt
			begun := a
			s.w.wg.Go(func() { s.w.perform(begun) })
			a = nil
		}
	}
}

// given is a run as it was given to this worker.
type given struct {
	run      job.Run
	jobRev   int64     // revision of the definition that it was armed from; 0: not known, or its own
	received time.Time // when
}

// anew is g as it was given to us again, which we learn from its record: by now, and by the same leader no sooner than its clock
// was known to show then.
func (g given) anew(run job.Run, now time.Time) given {
	received := now
	if least := g.run.Armed.Add(now.Sub(g.received)); run.Term == g.run.Term && least.After(run.Armed) {
		received = now.Add(run.Armed.Sub(least))
	}
	return given{run: run, received: received}
}

// renew begins to wait for what h holds now. The wait ends with the shift, and by wake.
func (s *shift) renew(h *hold) (waiting context.Context, now given) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	h.wake(nil)
	waiting, h.interrupt = context.WithCancelCause(s.ctx)
	if h.stopped > h.run.Rev {
		h.interrupt(errStopped)
	}
	if s.retiring {
		h.interrupt(errRetiring)
	}
	return waiting, h.given
}

// release ends h, unless its run has been given to us anew after rev or the shift goes on with it.
func (s *shift) release(h *hold, rev int64) bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if h.run.Rev > rev && s.ctx.Err() == nil {
		return false
	}
	h.wake(nil)
	delete(s.holds, h.run.Name())
	s.disperse(h)
	for _, id := range h.orders {
		s.settle(id)
	}
	return true
}

// ready waits until the run may be claimed: its definition is known, its time has come or is near, and it has room, which
// the caller then owns. It begins then, no sooner.
func (s *shift) ready(ctx context.Context, g *given) (spec *job.Spec, begins time.Time, err error) {
	run := &g.run
	if spec, err = s.definition(ctx, run, g.jobRev); err != nil {
		return nil, begins, err
	}
	begins = s.w.beginning(run, g.received)
	if wait := begins.Sub(s.w.now()) - s.early(g, spec); wait > 0 {
		if err := pause(ctx, wait); err != nil {
			return nil, begins, err
		}
	}
	if ctx.Err() != nil { // whatever else is ready
		return nil, begins, context.Cause(ctx)
	}
	if s.w.changed(g) {
		return nil, begins, errChanged
	}
	err = s.enter(ctx, begins)
	if run.Ahead && !s.w.now().Before(begins) {
		run.Ahead = false // its time has come: handed back, it is dispatched again, and not decided anew
	}
	if err != nil {
		return nil, begins, err
	}
	s.w.count(&s.w.executing, 1)
	if ctx.Err() != nil { // whoever drains, and has not seen that we execute, has ended the wait before
		s.vacate()
		return nil, begins, context.Cause(ctx)
	}
	return spec, begins, nil
}

// enter takes room for an attempt that begins then, and waits for it for a while after that.
func (s *shift) enter(ctx context.Context, begins time.Time) error {
	if why := s.w.refusal(); why != "" {
		return why
	}
	select {
	case s.w.room <- struct{}{}:
		return nil
	default:
	}
	full := time.NewTimer(max(0, begins.Sub(s.w.now())) + s.w.cfg.RoomTimeout)
	defer full.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case s.w.room <- struct{}{}:
		return nil
	case <-full.C:
		return errNoRoom
	}
}

// changed says whether the definition from which a run was armed ahead of its time is known to be another one by now. Then the
// run is to be decided anew, by whoever leads next if nobody does.
func (w *Worker) changed(g *given) bool {
	if w.cfg.Known == nil || g.jobRev == 0 || !g.run.Due.After(g.run.Armed) {
		return false
	}
	j, known := w.cfg.Known(g.run.Job, g.jobRev)
	return known && j.Rev > g.jobRev
}

// definition reads what the run is to do: job.ErrNotFound if there is nothing any more, errNoSpec if it takes too long.
func (s *shift) definition(ctx context.Context, run *job.Run, rev int64) (*job.Spec, error) {
	if spec := s.w.definitions.atHand(run, rev, s.w.now()); spec != nil {
		return spec, nil
	}
	limit, cancel := context.WithTimeoutCause(ctx, definitionTimeout, errNoSpec)
	defer cancel()
	pauses := newPauses()
	for {
		spec, err := s.w.definitions.spec(limit, run, rev, s.w.now())
		if err == nil || errors.Is(err, job.ErrNotFound) {
			return spec, err
		}
		s.w.log.Debug("definition is not there yet", "run", run.Name(), "err", err)
		if err := pause(limit, pauses.NextBackOff()); err != nil {
			return nil, err
		}
	}
}

// claim claims the attempt that run was armed for. Whatever the error, the attempt does not begin, and its room is free
// again. job.ErrConflict means that the run is not ours to begin, errRearmed that it has been given to us anew. An attempt whose
// claim was not answered before the session was over is taken for claimed: it does not begin, and its record has to say so.
func (s *shift) claim(h *hold, run *job.Run, spec *job.Spec, begins time.Time) (*attempt, error) {
	claimed, err := s.writeClaim(run, spec, begins)
	if err == nil {
		return s.start(h, claimed, spec, begins), nil
	}
	s.vacate()
	if !errors.Is(err, job.ErrConflict) || !s.armed(&claimed) || claimed.Rev <= run.Rev {
		return nil, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if claimed.Rev > h.run.Rev {
		h.given = h.anew(claimed, s.w.now()) // the order that tells of it is on its way
	}
	return nil, errRearmed
}

// writeClaim writes that the attempt begins. With job.ErrConflict it returns the record as it stands.
func (s *shift) writeClaim(run *job.Run, spec *job.Spec, begins time.Time) (job.Run, error) {
	if s.over() {
		return *run, fmt.Errorf("claim run %s: %w", run.Name(), executor.ErrFenced)
	}
	asked := s.w.now()
	next, err := run.Claim(run.Rev, startOf(begins, asked, s.w.claimed.Add(1)-1))
	if err != nil {
		return *run, fmt.Errorf("claim run %s: %w", run.Name(), err)
	}
	next.Bound = spec.Bound()
	got, err := s.w.write(s.ctx, next)
	s.w.claims.note(asked, s.w.now())
	if !settled(err) { // the claim may be there, or come yet: the report is written in its place or behind it, and to no other attempt
		return next, nil
	}
	if errors.Is(err, job.ErrConflict) && got.State == job.Running && got.Token == next.Token && got.Started.Equal(next.Started) {
		// Ours: a first send was applied without our hearing. A claim by a copy of this order has another start.
		return got, nil
	}
	return got, err
}

// vacate gives up the room of an attempt.
func (s *shift) vacate() {
	<-s.w.room
	s.w.count(&s.w.executing, -1)
}

// recall hands run back to the leader.
func (s *shift) recall(run job.Run, reason string) {
	next, err := run.Recall(reason)
	if err == nil {
		_, err = s.w.write(s.ctx, next)
	}
	if err != nil { // it was changed by somebody else, or the leader takes it back itself when the session ends
		s.w.log.Debug("run was not handed back", "run", run.Name(), "attempt", run.Attempt, "err", err)
		return
	}
	s.w.log.Info("run handed back", "run", run.Name(), "attempt", run.Attempt, "reason", reason)
	s.w.cfg.Observer.Recalled(&run, reason)
}

// cancelDeleted ends a run whose job is gone.
func (s *shift) cancelDeleted(run job.Run) {
	next, err := run.Stop(job.Cancel{At: s.w.now().UTC(), Reason: "job deleted"})
	if err == nil {
		_, err = s.w.write(s.ctx, next)
	}
	if err != nil {
		s.w.log.Debug("run of a deleted job was not canceled", "run", run.Name(), "err", err)
		return
	}
	s.w.log.Info("run canceled, since its job is deleted", "run", run.Name())
}
