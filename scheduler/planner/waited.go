package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// skipWaited skips a run that has waited for its first start longer than the start_within of its job. It waits for whatever holds
// it back: room, a limit, a rate, an earlier run or a pause. The run of a missed slot waits since the leader created it.
func (p *Planner) skipWaited(j *jobState, now time.Time) *job.Decision {
	if j.def == nil || j.def.Spec.StartWithin == 0 {
		return nil
	}
	within := j.def.Spec.StartWithin
	for _, r := range j.live.order {
		if r.Due.After(now) {
			break
		}
		if r.State != job.Pending || r.Attempt > 0 || r.Ahead || r.Spec != nil {
			continue
		}
		until := job.Later(r.Due, r.Created).Add(within.Std())
		if now.Before(until) {
			p.wakeAt(j, until)
			continue
		}
		next := *r.Run
		next.State, next.Finished, next.Reason = job.Skipped, now, reasonWaited(within)
		return &job.Decision{Run: &next}
	}
	return nil
}
