package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// cancelOrphans ends a run of a deleted job that has not started.
func (p *Planner) cancelOrphans(j *jobState, now time.Time) *job.Decision {
	if j.def != nil {
		return nil
	}
	for _, r := range j.live.order {
		if r.Spec != nil || r.State == job.Running || r.Copies != nil { // the last of these ends with its copies
			continue
		}
		if next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: reasonJobDeleted}); err == nil {
			return &job.Decision{Run: &next}
		}
	}
	return nil
}

// assign assigns a due run to a worker, or records why it waits. Unless runs of the job may overlap, a run that has begun
// goes first and the others wait for its end. If no run is due, assign arms the next one ahead.
func (p *Planner) assign(j *jobState, now time.Time) *job.Decision {
	var waiting explanation
	unplaced := unplacedRuns{}
	paused := p.paused(j)
	var begun []*liveRun                 // collected once a run waits; nil before that, and if there is none
	full := make(map[string]string)      // the reason why runs get no worker, by their demandKey
	throttled := make(map[string]string) // the reason why runs wait for limits, by the names of these limits
	for _, r := range j.live.order {
		if r.State != job.Pending || r.Ahead { // decideSlot handles Ahead
			continue
		}
		if r.Due.After(now) {
			if d := p.armPending(j, r, now); d != nil {
				return d
			}
			break
		}
		if j.unreadableSpec(r.Run) {
			if waiting.runs++; isWaitReason(r.Reason) {
				waiting.add(r.Run, reasonUnreadable)
			}
			continue
		}
		spec := j.spec(r.Run)
		if spec == nil {
			continue
		}
		if r.ID == j.trouble().oversized {
			return cancelOversized(r.Run, now)
		}
		waiting.runs++
		if begun == nil {
			begun = slices.Collect(j.live.haveBegun)
		}
		if paused || isBlocked(r, begun, spec) {
			waiting.addBlocked(j, r.Run, paused)
			continue
		}
		if r.NeedsApproval(spec) {
			return &job.Decision{Run: new(r.Ask(spec.Approve, now)), JobRev: j.rev(r.Run)}
		}
		limits := strings.Join(spec.Limits, " ")
		why, known := throttled[limits]
		if !known {
			why = p.throttleReason(j, r.Run, spec, now, true)
		}
		if why != "" {
			throttled[limits] = why
			if !known || !staysThrottled(r.Reason, spec) {
				waiting.add(r.Run, why)
			}
			continue
		}
		if spreads(spec, r.Run) {
			next, ok := p.spread(j, spec, *r.Run, now)
			if ok {
				return &job.Decision{Run: &next, JobRev: j.rev(r.Run)}
			}
			if next.Reason == reasonNoRoom {
				unplaced.waiting++
				waiting.add(r.Run, reasonNoRoom)
				continue
			}
		}
		key := demandKey(spec, r.On)
		if _, tried := full[key]; !tried {
			w, accepted := p.choose(j, spec, r.Run, now)
			if w != nil {
				if next := p.assignTo(j, w, *r.Run, now); next != nil {
					return &job.Decision{Run: next, JobRev: j.rev(r.Run)}
				}
				continue
			}
			p.waitForRoom(j, spec, r.Run, now)
			full[key] = p.noWorkerReason(spec, r.Run, accepted)
		}
		if full[key] == reasonNoRoom {
			unplaced.waiting++
		} else {
			unplaced.unmatched++
		}
		waiting.add(r.Run, full[key])
	}
	p.setUnplaced(j, unplaced)
	return waiting.decision
}

// staysThrottled reports whether a waiting run that is not the first may keep its reason, because the present one differs only in
// details. Under overlap: allow, no run waits for another.
func staysThrottled(reason string, spec *job.Spec) bool {
	switch reason {
	case "", job.ReasonNotYet, job.ReasonNew, reasonPaused:
		return false
	case reasonOverlap:
		return spec.Overlap != job.OverlapAllow
	}
	return true
}

// cancelOversized ends a run that is too large to be assigned, so that it does not block others. The API admits no such run,
// but it may have been written by hand.
func cancelOversized(r *job.Run, now time.Time) *job.Decision {
	next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: reasonTooLarge})
	if err != nil {
		return nil
	}
	next.Payload, next.Spec = nil, nil
	return &job.Decision{Run: &next}
}

// isBlocked reports whether r has to wait for one of the runs of its job that have begun.
func isBlocked(r *liveRun, begun []*liveRun, spec *job.Spec) bool {
	if spec.Overlap == job.OverlapAllow || r.Job == job.AdHoc || r.Kind == job.KindBackfill {
		return false
	}
	for _, o := range begun {
		if o.ID == r.ID || o.Kind == job.KindBackfill || job.Siblings(o.Run, r.Run) {
			continue
		}
		if o.assigned() || !r.begun() || o.ID < r.ID {
			return true
		}
	}
	return false
}
