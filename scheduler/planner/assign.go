package planner

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// cancelOrphans ends what a deleted job left behind and nobody has begun.
func (p *Planner) cancelOrphans(j *jobState, now time.Time) *job.Decision {
	if j.def != nil {
		return nil
	}
	for _, r := range j.live.order {
		if r.Spec != nil || r.State == job.Running {
			continue
		}
		if next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: "the job was deleted"}); err == nil {
			return &job.Decision{Run: &next}
		}
	}
	return nil
}

// assign gives a pending run whose time has come to a worker, or writes down why it has to wait. Unless runs of the job
// may overlap, one that was begun goes before all others, and the others wait for its end. The first of those whose time
// comes soon is armed ahead.
func (p *Planner) assign(j *jobState, now time.Time) *job.Decision {
	var waiting explanation
	lacking := 0
	paused, begun := p.paused(j), j.live.haveBegun()
	full := make(map[string]string)   // why those wait that need a certain worker
	barred := make(map[string]string) // why those wait that name certain limits
	for _, r := range j.live.order {
		if r.State != job.Pending || r.Ahead { // decideSlot sees to those
			continue
		}
		if r.Due.After(now) {
			if d := p.armPending(j, r, now); d != nil {
				return d
			}
			break
		}
		if j.obscure(r.Run) {
			if waiting.runs++; waits(r.Reason) {
				waiting.tell(r.Run, reasonUnreadable)
			}
			continue
		}
		spec := j.spec(r.Run)
		if spec == nil {
			continue
		}
		if r.ID == j.told().oversized {
			return giveUp(r.Run, now)
		}
		waiting.runs++
		if paused || held(r, begun, spec) {
			waiting.tellHeld(r.Run, paused)
			continue
		}
		limits := strings.Join(spec.Limits, " ")
		why, known := barred[limits]
		if !known {
			why = p.bar(j, r.Run, spec, now, true)
		}
		if why != "" {
			barred[limits] = why
			if !known || r.Reason == "" || r.Reason == job.ReasonNotYet || r.Reason == job.ReasonNew { // of those behind it, what they were told is near enough
				waiting.tell(r.Run, why)
			}
			continue
		}
		key := demandKey(spec)
		if _, tried := full[key]; !tried {
			w, anybody := p.choose(j, spec, r.Run, now)
			if w != nil {
				if next := j.give(*r.Run, w, now); next != nil {
					return &job.Decision{Run: next, JobRev: j.rev(r.Run)}
				}
				continue
			}
			p.wait(j, key, spec, r.Due, now)
			full[key] = waitReason(spec, anybody)
		}
		lacking++
		waiting.tell(r.Run, full[key])
	}
	p.lack(j, lacking)
	return waiting.decision
}

// giveUp ends a run that can never be given to a worker, so that it does not keep others from being: the API admits none
// that is so large, but a hand may have put it there.
func giveUp(r *job.Run, now time.Time) *job.Decision {
	next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: "its record is too large for the store"})
	if err != nil {
		return nil
	}
	next.Payload, next.Spec = nil, nil
	return &job.Decision{Run: &next}
}

// held says whether r has to wait for another run of its job, given those that have begun.
func held(r *liveRun, begun []*liveRun, spec *job.Spec) bool {
	if spec.Overlap == job.OverlapAllow || r.Job == job.AdHoc {
		return false
	}
	for _, o := range begun {
		if o.ID != r.ID && (o.assigned() || !r.begun() || o.ID < r.ID) {
			return true
		}
	}
	return false
}
