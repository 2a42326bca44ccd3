package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// look returns what to do about j at now, the most urgent thing first, or nil after noting when to look again.
func (p *Planner) look(j *jobState, now time.Time) *job.Decision {
	if j.busy { // its waiters keep their places
		return nil
	}
	p.leaveQueues(j)
	if at := j.told().retryAt; now.Before(at) {
		p.wakeAt(j, at)
		return nil
	}
	steps := []func(*jobState, time.Time) *job.Decision{p.rescue, p.sweep, p.cancelOrphans, p.recall, p.decideSlot, p.assign, p.prune}
	if j.unreadable { // who can tell what its slots are, or whether it is still wanted?
		steps = []func(*jobState, time.Time) *job.Decision{p.rescue, p.sweep, p.assign, p.prune}
	}
	for _, decide := range steps {
		if d := decide(j, now); d != nil {
			return d
		}
	}
	return nil
}

// rev is the definition's revision for a decision that arms r: with the definition changed or the job paused, the decision is refused.
func (j *jobState) rev(r *job.Run) int64 {
	if r.Spec != nil || j.def == nil {
		return 0
	}
	return j.def.Rev
}
