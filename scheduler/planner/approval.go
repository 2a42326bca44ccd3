package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// expireApprovals skips a run that nobody has approved in time. Its record has the deadline, so neither a pause nor a later
// definition of the job changes it.
func (p *Planner) expireApprovals(j *jobState, now time.Time) *job.Decision {
	for _, r := range slices.Backward(j.live.order) { // these runs come last, because their due time is far away
		if r.Due.Before(job.WhenApproved) {
			break
		}
		if !r.AwaitsApproval() || r.Approval.Until.IsZero() {
			continue
		}
		if until := r.Approval.Until; now.Before(until) {
			p.wakeAt(j, until)
			continue
		}
		if next, err := r.Expire(now); err == nil {
			return &job.Decision{Run: &next}
		}
	}
	return nil
}

// stillAsked reports whether r waits for its approval, and did so when the slot s was due. A person keeps it waiting then, and
// not the cluster.
func stillAsked(r *liveRun, s slot) bool {
	return r.AwaitsApproval() && !r.Late && !r.Approval.Asked.After(s.due)
}
