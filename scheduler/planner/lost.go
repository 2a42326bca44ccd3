package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// recoverLost decides about a run whose worker is lost or does not start the run. An attempt that never started goes to another
// worker. An attempt that started is over. Then the job's delivery decides whether another one follows.
func (p *Planner) recoverLost(j *jobState, now time.Time) *job.Decision {
	for r := range j.live.haveBegun {
		if !r.assigned() || !p.mustTakeBack(j, r, now) {
			continue
		}
		if d := p.takeBack(j, r, now); d != nil {
			return d
		}
	}
	return nil
}

// mustTakeBack reports whether a run must be taken from its worker now. If not, it sets the job's timer. It is called for each
// run that has begun, so it copies no run.
func (p *Planner) mustTakeBack(j *jobState, r *liveRun, now time.Time) bool {
	switch {
	case p.lost(r.Run, now):
		return true
	case !p.present(r.Run):
		p.wakeAt(j, p.leadSince.Add(p.cfg.ReturnGrace))
	case r.State != job.Armed:
	case p.atDraining(r, now):
		return true
	default:
		deadline := job.Later(r.since, r.Due).Add(p.cfg.ClaimTimeout)
		if !now.Before(deadline) {
			return true
		}
		p.wakeAt(j, deadline)
	}
	return false
}

// takeBack takes a run from its worker; nil if there is nothing to write.
func (p *Planner) takeBack(j *jobState, r *liveRun, now time.Time) *job.Decision {
	var next job.Run
	var err error
	switch lost := p.lost(r.Run, now); {
	case lost && j.retryUnknown(r):
		if isUnknownReason(r.Reason) {
			return nil
		}
		next = *r.Run
		next.Reason = reasonUnknown
		return &job.Decision{Run: &next}
	case lost && r.State == job.Armed:
		next, err = r.Recall(reasonLost(r.Worker))
	case lost:
		next, err = endAttempt(j.spec(r.Run), r.Run, job.Outcome{State: job.Lost, At: now, Reason: reasonLost(r.Worker)})
	case p.atDraining(r, now):
		next, err = r.Recall(reasonDraining(r.Worker))
	default:
		next, err = r.Recall(reasonNotStarted(r.Worker))
	}
	if err != nil {
		return nil
	}
	gaveUp := r.State == job.Running
	if gaveUp {
		next = next.GiveUp()
	}
	d := p.reassign(j, next, now)
	d.GaveUp = gaveUp
	if p.lost(r.Run, now) {
		d.Guards = append(d.Guards, p.presenceGuard(r.Worker))
	}
	return d
}

// atDraining reports whether a run that was armed ahead is at a present worker that drains. The worker hands it back itself,
// if it can.
func (p *Planner) atDraining(r *liveRun, now time.Time) bool {
	return r.early(now) && p.workers[r.Worker].present.Draining
}

// retryUnknown reports whether the delivery of the job was never readable. Then it is unknown whether r, whose attempt is over,
// may be retried.
func (j *jobState) retryUnknown(r *liveRun) bool {
	return j.unreadable && j.spec(r.Run) == nil && r.State == job.Running && r.Cancel == nil
}

// reassign writes r. If r is pending, the same decision assigns it to a worker with room. It does not if another run of the job
// blocks r, since runs may have overlapped until now, if r needs an approval, or if r has waited too long. If r was armed ahead
// and its slot passed while no replica led, its slot is decided again instead.
func (p *Planner) reassign(j *jobState, r job.Run, now time.Time) *job.Decision {
	missed := r.Due.Before(p.leadSince)
	r.Ahead = r.Ahead && (missed || r.Due.After(now))
	until, bound := p.startsBy(j, &r)
	spec := j.spec(&r)
	stays := r.Ahead && missed || r.State != job.Pending || spec == nil || spreads(spec, &r) || r.NeedsApproval(spec) ||
		bound && !now.Before(until) || isBlocked(&liveRun{Run: &r}, slices.Collect(j.live.haveBegun), spec)
	if !stays && p.mayAssign(j, &r) && p.throttleReason(j, &r, spec, now, false) == "" {
		if w, _ := p.choose(j, spec, &r, now); w != nil {
			if armed := p.assignTo(j, w, r, now); armed != nil {
				return &job.Decision{Run: armed, JobRev: j.rev(&r)}
			}
		}
	}
	return &job.Decision{Run: &r}
}

// endAttempt gives up the attempt of r with outcome o, at o.At. The run is retried if policy.DecideRetry says so. spec is nil
// if the job was deleted.
func endAttempt(spec *job.Spec, r *job.Run, o job.Outcome) (job.Run, error) {
	const middle = 0.5 // no random jitter is needed, since few attempts are given up at the same time
	o, retry := policy.DecideRetry(policy.EndedAttempt{Spec: spec, Run: r, Outcome: o, Now: o.At, Random: middle, GivenUp: true})
	if retry != nil {
		return r.Requeue(o, retry.Due, retry.Reason)
	}
	return r.Finish(o)
}
