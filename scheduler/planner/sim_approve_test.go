package planner_test

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// approve lets a client decide about the runs that wait for a person. Once everything is healed, it approves all of them.
func (w *sim) approve() {
	for _, r := range w.store.runs() {
		v := job.Verdict{Approved: w.healed || w.chance(0.7), At: w.apiClock(), Who: "alice", Reason: "asked for"}
		if !r.AwaitsApproval() || !v.At.Before(r.Approval.Until) || !w.healed && w.chance(0.5) {
			continue
		}
		if next, err := r.Decide(nil, v); err == nil {
			_, _ = w.store.writeRun(next)
		}
	}
}

// approved checks that a run which needs an approval has one before its first attempt.
func (c *checker) approved(r *job.Run) {
	j := c.sim.store.job(r.Job)
	asks := j != nil && j.Generation == r.Generation && j.Spec.Approve != nil && r.Spec == nil && r.Attempt == 1
	if a := r.Approval; a != nil && !a.Approved || a == nil && asks {
		c.fail("run %s is armed, but nobody has approved it: %+v", r.Name(), a)
	}
}

// expired checks that no run waits for a person after its deadline.
func (c *checker) expired(r *job.Run, healed time.Time) {
	if r.AwaitsApproval() && r.Approval.Until.Before(healed) {
		c.fail("run %s still waits for its approval: %s", r.Name(), describe(r))
	}
}
