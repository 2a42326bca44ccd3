package worker

import (
	"context"
	"errors"
	"time"

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
	s.holding.add(-1)
	s.wg.Done()
	return true
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
