package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// attempt is a claimed run that executes, or is about to.
type attempt struct {
	run      job.Run   // as it was claimed
	begins   time.Time // not before
	received time.Time
	spec     *job.Spec // shared
	shift    *shift    // under which it was claimed
	ctx      context.Context
	cancel   context.CancelCauseFunc // of ctx, with one of the causes of package executor
	yours    context.Context         // parent of ctx: done when others may execute the run, or the worker's life is over
	fence    context.CancelCauseFunc // of yours, and so of ctx, with executor.ErrFenced
	killed   bool                    // guarded by w.mu: counted in shift.killed
}

// outlives says whether the attempt goes on when its session is over: nobody repeats it, and nobody waits for its end.
func (a *attempt) outlives() bool {
	return a.spec.Delivery == job.AtMostOnce && a.spec.Overlap == job.OverlapAllow
}

// kill ends the attempt because its session is over. w.mu is held.
func (a *attempt) kill() {
	if !a.killed {
		a.killed = true
		a.shift.killed.add(1)
		a.fence(executor.ErrFenced)
	}
}

// start makes the attempt that has been claimed, for the caller to begin. It takes over the room of the caller.
func (s *shift) start(h *hold, claimed job.Run, spec *job.Spec, begins time.Time) *attempt {
	w := s.w
	a := &attempt{run: claimed, begins: begins, spec: spec, shift: s}
	a.yours, a.fence = context.WithCancelCause(s.life)
	a.ctx, a.cancel = context.WithCancelCause(a.yours)

	w.mu.Lock()
	w.attempts[a] = struct{}{}
	if w.stopping {
		a.cancel(executor.ErrStopping)
	}
	if s.ctx.Err() != nil { // what the session's end killed did not include it yet; it never begins
		a.kill()
	}
	stopped := h.stopped > claimed.Token
	a.received = h.received
	w.mu.Unlock()

	if stopped {
		w.wg.Go(func() { w.confirmStop(a) })
	}
	return a
}

// begin performs an attempt in its time. Whoever ends it before finds that it has not begun; and so does a machine that was
// suspended meanwhile: nobody there has looked at the session since.
func (w *Worker) begin(a *attempt) {
	before := w.now()
	wait := a.begins.Sub(before)
	if wait <= 0 {
		w.perform(a)
		return
	}
	w.table.after(a.ctx, wait, func() {
		if after := w.now(); after.Round(0).Sub(before.Round(0))-after.Sub(before) > maxJump {
			a.fence(executor.ErrFenced)
		}
		w.perform(a)
	})
}

// perform executes an attempt and reports its end.
func (w *Worker) perform(a *attempt) {
	began := w.now()
	o, begun := w.execute(a)
	ended := w.now()
	w.count(&w.unsent, 1) // before the attempt ends, so that whoever waits for both sees no gap
	w.leave(a)
	w.ends.do(func() { w.conclude(a, o, begun, began, ended) })
}

// conclude decides what becomes of the run of an attempt that has ended, and sees to it that the store hears of it.
func (w *Worker) conclude(a *attempt, o job.Outcome, begun bool, began, ended time.Time) {
	w.cfg.Observer.Ended(&a.run, &o, ended.Sub(began))
	if o.State != job.Succeeded {
		// Beside the rest: a log that takes nothing, as a terminal after Ctrl-S, must not hold the outcome up.
		w.wg.Go(func() {
			w.log.Info("attempt ended", "run", a.run.Name(), "attempt", a.run.Attempt, "state", o.State, "reason", o.Reason)
		})
	}

	r := newReport(a.run, a.spec, o, !begun, a.byLeader(ended), w.random())
	kept := false
	if w.journal != nil {
		// If we die before, the attempt counts as lost; after, the next process delivers its outcome.
		err := w.journal.keep(r)
		if kept = err == nil; !kept {
			w.doubt()
			w.wg.Go(func() {
				w.log.Error("outcome is kept in memory only", "run", a.run.Name(), "attempt", a.run.Attempt, "err", err)
			})
		}
	}
	w.send(a.shift.life, r, kept)
}

// maxJump is how far the wall clock may get ahead of the monotonic one, which stands still while the machine is suspended.
const maxJump = time.Second

// travel is how long an order is under way at most, as a rule.
const travel = 2 * time.Second

// byLeader turns now into what the leader's clock says, by which runs become due. That clock was read when the run was given
// to us, and what has passed since is counted on the monotonic clock. A difference that may be the order's time on its way
// is none.
func (a *attempt) byLeader(now time.Time) time.Time {
	if a.run.Armed.IsZero() {
		return now
	}
	theirs := a.run.Armed.Add(now.Sub(a.received))
	if ahead := now.Sub(theirs); 0 <= ahead && ahead <= travel {
		return now
	}
	return theirs
}

// execute carries the attempt out, unless its end was asked for or its session was over before it could begin, or the machine
// lacks what it takes.
func (w *Worker) execute(a *attempt) (o job.Outcome, begun bool) {
	timeout := a.spec.Timeout
	if timeout <= 0 {
		timeout = job.DefaultTimeout
	}
	if a.shift.over() {
		a.fence(executor.ErrFenced)
	}
	ctx, cancel := context.WithTimeoutCause(a.ctx, timeout.Std(), executor.ErrTimeout)
	defer cancel()
	ctx, beat, stop := executor.WithHeartbeat(ctx, a.spec.Heartbeat.Std())
	defer stop()
	req := executor.Request{
		Run:         a.run,
		Spec:        *a.spec,
		Deadline:    a.run.Started.Add(timeout.Std()),
		Beat:        beat,
		Hurry:       a.yours.Done(),
		Marker:      w.mark(),
		TraceParent: traceParent(&a.run),
	}
	if o, ended := executor.Interrupted(ctx, &req, w.now()); ended {
		o.Reason += " " + job.NotBegun
		return o, false
	}
	w.cfg.Observer.Began(&a.run, w.now().Sub(a.begins))
	printed := w.capture(&a.run)
	req.Output = printed
	o = w.exec.Execute(ctx, req)
	if err := printed.Close(); err != nil {
		w.log.Warn("output is incomplete", "run", a.run.Name(), "attempt", a.run.Attempt, "err", err)
	}
	w.printed(printed.Kept())
	o.Output = printed.Tail()
	if o.State == job.Lost && strings.Contains(o.Reason, job.NotBegun) {
		w.lack(errors.New(o.Reason))
		return o, false
	}
	return o, true
}

// leave gives up the attempt's room and place.
func (w *Worker) leave(a *attempt) {
	a.cancel(nil)
	a.fence(nil)
	a.shift.vacate() // before the end of its shift may go on
	w.mu.Lock()
	delete(w.attempts, a)
	if a.killed {
		a.shift.killed.add(-1)
	}
	w.mu.Unlock()
}

// stop ends the run called name, which an order that was made at rev asks for. w.mu is held.
func (s *shift) stop(name string, rev int64) {
	if h := s.holds[name]; h != nil && rev > h.run.Rev {
		h.stopped = rev
		h.wake(errStopped)
	}
	for a := range s.w.attempts {
		if a.run.Name() == name {
			s.w.wg.Go(func() { s.w.confirmStop(a) })
		}
	}
}

// confirmStop ends an attempt if its record says so: an order may tell of a change that was refused.
func (w *Worker) confirmStop(a *attempt) {
	pauses := newPauses()
	for {
		record, err := w.store.Run(a.ctx, a.run.Job, a.run.ID)
		switch {
		case err == nil && record.State == job.Running && record.Token == a.run.Token:
			switch {
			case record.Cancel != nil:
				a.cancel(executor.ErrCanceled)
			case w.now().After(a.run.Started.Add(a.run.Bound.Std())): // by the wall clock, which ran on while the machine slept
				a.cancel(executor.ErrTimeout)
			}
			return
		case err == nil, errors.Is(err, job.ErrNotFound): // given up; what we do has no effect any more
			if a.outlives() { // and is never repeated
				a.cancel(executor.ErrFenced)
			} else {
				a.fence(executor.ErrFenced)
			}
			return
		}
		w.log.Debug("request to stop is not confirmed yet", "run", a.run.Name(), "err", err)
		if pause(a.ctx, min(pauses.NextBackOff(), time.Second)) != nil {
			return
		}
	}
}
