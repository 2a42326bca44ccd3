package worker

import (
	"context"
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// assignment is a run that a leader has assigned to this worker.
type assignment struct {
	run      job.Run
	jobRev   int64     // revision of the definition from which the leader armed the run; 0: unknown, or the run has its own spec
	received time.Time // when this worker received it
}

// reassigned returns the assignment for run, which is a newer record of a.run. The order for run has not arrived yet. The run
// counts as received now. If the same leader armed it, and its clock is certainly past run.Armed, the run counts as received
// earlier by that difference.
func (a assignment) reassigned(run job.Run, now time.Time) assignment {
	received := now
	if least := a.run.Armed.Add(now.Sub(a.received)); run.Term == a.run.Term && least.After(run.Armed) {
		received = now.Add(run.Armed.Sub(least))
	}
	return assignment{run: run, received: received}
}

// armedRun is a run that was assigned to this worker and is not claimed yet. If a leader assigns the run again before its
// claim, the same armedRun continues with the new assignment.
type armedRun struct {
	shift *shift
	name  string // of the run

	// Guarded by Worker.mu.
	latest  assignment
	dueKey  int64    // the key of shift.dueCounts that counts it
	orders  []string // ids of the orders that assigned it
	stopRev int64    // revision of the latest request to stop it; 0: none.

	// Guarded by Worker.mu: the wait for the claim. Its end does not end the claim.
	waitEnd error                   // why the wait must end early; nil: it need not
	timer   *entry                  // starts the claim; nil: the wait has not come so far
	cancel  context.CancelCauseFunc // ends the context of the wait; nil: it has none

	// Used only by the goroutine that brings the run to its claim.
	assignment           // the assignment that is being claimed
	spec       *job.Spec // shared with other runs: read only
	startAt    time.Time // the attempt starts at this time at the earliest
}

// interruptWait ends the wait of r. If a wait begins later, it checks by itself whether it must end. Worker.mu is held.
func (r *armedRun) interruptWait(cause error) {
	if r.waitEnd != nil {
		return
	}
	r.waitEnd = cause
	if r.timer != nil {
		r.shift.w.table.hasten(r.timer)
	}
	if r.cancel != nil {
		r.cancel(cause)
	}
}

// waitError returns why the wait of r must end early; nil if it need not.
func (r *armedRun) waitError() error {
	r.shift.w.mu.Lock()
	defer r.shift.w.mu.Unlock()
	return r.waitEnd
}

// waitContext returns a context that ends when the wait of r must end early. The caller must call stop. Few waits need a context.
func (r *armedRun) waitContext() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(r.shift.ctx)
	r.shift.w.mu.Lock()
	defer r.shift.w.mu.Unlock()
	if r.cancel = cancel; r.waitEnd != nil {
		cancel(r.waitEnd)
	}
	return ctx, func() { cancel(nil) }
}

// refusal is the reason, as the record states it, for which a worker hands a run back.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errDraining    refusal = "worker is stopping"
	errStopped     refusal = "stopped before it began"
	errNoRoom      refusal = "worker has no room"
	errNoSpec      refusal = "worker could not read its definition"
	errChanged     refusal = "the job was changed"
	errNoDisk      refusal = "worker's disk cannot be written to"
	errCannotStart refusal = "worker cannot start attempts"
	errKindAway    refusal = "worker cannot start attempts of its kind"
	errNoMemory    refusal = "worker is under memory pressure"
	errNoCPU       refusal = "worker is under CPU pressure"
)

// errReassigned is returned when a leader has assigned an armed run to this worker again.
var errReassigned = errors.New("assigned again")

// prepareClaim starts the wait for the latest assignment. When it is over, tryClaim is called in the background. prepareClaim does
// not block, and a run that waits for its time costs no goroutine.
func (r *armedRun) prepareClaim() {
	r.startWait()
	w := r.shift.w
	if r.spec = w.definitions.cached(&r.run, r.jobRev); r.spec == nil {
		w.table.start(r.awaitSpec)
		return
	}
	r.awaitTime()
}

// awaitSpec waits for the definition of the run.
func (r *armedRun) awaitSpec() {
	ctx, stop := r.waitContext()
	spec, err := r.shift.w.definitions.await(ctx, &r.run, r.jobRev)
	stop()
	if err != nil {
		r.tryClaim(err)
		return
	}
	r.spec = spec
	r.awaitTime()
}

// awaitTime determines the start of the run, and makes the timetable call tryClaim when the run may be claimed.
func (r *armedRun) awaitTime() {
	w := r.shift.w
	r.startAt = w.startTime(&r.run, r.received)
	wait := r.startAt.Sub(w.now()) - r.shift.claimLead(&r.run, r.spec)
	if wait <= 0 || !r.startTimer(wait) {
		w.table.start(func() { r.tryClaim(nil) })
	}
}

// startTimer makes the timetable call tryClaim when wait has passed or the wait must end early. It returns false if the wait must
// end now.
func (r *armedRun) startTimer(wait time.Duration) bool {
	w := r.shift.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.waitEnd != nil {
		return false
	}
	r.timer = w.table.add(wait, func() { r.tryClaim(nil) })
	return true
}

// startWait begins the wait for the latest assignment. It ends when the shift ends or interruptWait is called.
func (r *armedRun) startWait() {
	s := r.shift
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	r.assignment = r.latest
	r.waitEnd, r.timer, r.cancel = nil, nil, nil
	switch {
	case s.ctx.Err() != nil:
		r.waitEnd = context.Cause(s.ctx)
	case r.stopRev > r.run.Rev:
		r.waitEnd = errStopped
	case s.draining:
		r.waitEnd = errDraining
	}
}

// tryClaim claims the run and schedules its attempt, or hands the run back. It is called when the wait is over. If err is
// not nil, the run cannot be claimed.
func (r *armedRun) tryClaim(err error) {
	s := r.shift
	if err == nil {
		err = r.takeRoom()
	}
	var a *attempt
	if err == nil {
		a, err = r.claim()
	}
	if err != nil {
		r.unclaimed(err)
	}
	if !r.release() { // the new assignment is another attempt
		r.prepareClaim()
	}
	if a != nil {
		s.w.scheduleAttempt(a)
	}
}

// unclaimed ends a run that was not claimed, because of err.
func (r *armedRun) unclaimed(err error) {
	var why refusal
	switch s := r.shift; {
	case s.ctx.Err() != nil, fenced(err), errors.Is(err, errReassigned):
	case errors.Is(err, job.ErrConflict), errors.Is(err, job.ErrUnreadable):
		s.w.log.Debug("run was changed before its claim", "run", r.run.Name(), "attempt", r.run.Attempt, "err", err)
		s.w.cfg.Observer.Conflicted(&r.run)
	case errors.Is(err, job.ErrNotFound):
		s.cancelDeleted(r.run)
	case errors.As(err, &why):
		s.recall(r.run, string(why))
	default:
		s.w.log.Error("run cannot be claimed", "run", r.run.Name(), "attempt", r.run.Attempt, "err", err)
	}
}

// release removes r from the shift and returns true. It returns false if a leader has assigned the run again and the shift has
// not ended.
func (r *armedRun) release() bool {
	s := r.shift
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if r.latest.run.Rev > r.run.Rev && s.ctx.Err() == nil {
		return false
	}
	delete(s.armed, r.name)
	s.uncountDue(r)
	for _, id := range r.orders {
		s.resolve(id)
	}
	s.unclaimed.add(-1)
	s.wg.Done()
	return true
}

// recall hands run back to the leader.
func (s *shift) recall(run job.Run, reason string) {
	next, err := run.Recall(reason)
	if err == nil {
		_, err = s.w.write(s.ctx, next)
	}
	if err != nil { // the record has changed, or the session has ended and the leader takes the run back by itself
		s.w.log.Debug("run was not handed back", "run", run.Name(), "attempt", run.Attempt, "err", err)
		return
	}
	s.w.log.Info("run handed back", "run", run.Name(), "attempt", run.Attempt, "reason", reason)
	s.w.cfg.Observer.Recalled(&run, reason)
}

// cancelDeleted cancels a run whose job was deleted.
func (s *shift) cancelDeleted(run job.Run) {
	next, err := run.Stop(job.Cancel{At: s.w.now().UTC(), Reason: "job deleted"})
	if err == nil {
		_, err = s.w.write(s.ctx, next)
	}
	if err != nil {
		s.w.log.Debug("run of a deleted job was not canceled", "run", run.Name(), "err", err)
		return
	}
	s.w.log.Info("run canceled because its job was deleted", "run", run.Name())
}
