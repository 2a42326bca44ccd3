package planner

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxQueued is how many runs of one job wait under the overlap policies queue and allow; further slots are skipped.
const MaxQueued = 100

// decideAllowed decides a slot of a job whose runs may overlap. nil means that it waits.
func (p *Planner) decideAllowed(j *jobState, s slot, now time.Time) *job.Decision {
	queued := 0
	for _, r := range j.live.order {
		if r.Kind != job.KindScheduled || r.ID == s.id() {
			continue
		}
		if s.late && r.State == job.Armed {
			return nil // what is made up for goes in order: one is begun before the next is given out
		}
		if !r.begun() {
			queued++
		}
	}
	if queued >= MaxQueued {
		return p.queueFull(j, s, now)
	}
	return p.fire(j, s, now)
}

// queueFull decides a slot that finds MaxQueued runs waiting before it.
func (p *Planner) queueFull(j *jobState, s slot, now time.Time) *job.Decision {
	if s.missed {
		return nil // the missed policy has let it through: it waits its turn
	}
	return p.skip(j, s, now, fmt.Sprintf("overlap: %d runs are queued already", MaxQueued))
}

// activeAt returns the runs that a slot finds before it: those that have begun, and those that wait and were due no later.
func (j *jobState) activeAt(s slot, now time.Time) (active []*liveRun) {
	for _, r := range j.live.order {
		if r.ID != s.id() && (r.begun() || r.Active(now) && !r.Due.After(s.due)) {
			active = append(active, r)
		}
	}
	return active
}

// decideOverlap decides a slot that finds earlier runs active. nil means that it waits.
func (p *Planner) decideOverlap(j *jobState, s slot, active []*liveRun, now time.Time) *job.Decision {
	switch j.def.Spec.Overlap {
	case job.OverlapQueue:
		queued := 0
		for _, r := range active {
			if !r.begun() {
				queued++
			}
		}
		if queued >= MaxQueued {
			return p.queueFull(j, s, now)
		}
		return p.enter(j, s, p.run(j, s, now, reasonBehind+active[0].ID))
	case job.OverlapReplace:
		return p.replace(j, s, active, now)
	}
	j.note().blockedBy = active[0].ID
	for _, r := range active {
		proven, known := p.provenActive(j, r, s, now)
		if proven {
			return p.skip(j, s, now, "overlap: run "+r.ID+" is still active")
		}
		if !known.IsZero() {
			p.wakeAt(j, known)
		}
		if r.begun() {
			j.note().blockedBy = r.ID
		}
	}
	return nil
}

// replace stops the runs that are in the way of a slot, one at a time.
func (p *Planner) replace(j *jobState, s slot, active []*liveRun, now time.Time) *job.Decision {
	for _, r := range active {
		if s.missed && r.Late { // what is made up for runs one after the other
			j.note().blockedBy = r.ID
			return nil
		}
		if r.Cancel != nil {
			continue
		}
		next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: s.replaces()})
		if err == nil {
			return &job.Decision{Run: &next, Stop: r.State == job.Running}
		}
	}
	return nil
}

// replaces is why a run is stopped that is in the way of the slot.
func (s slot) replaces() string { return "overlap: replaced by slot " + s.id() }

// replacesFor is for how long beyond its kill grace a run that is stopped may be in the way of the slot that it is stopped for.
const replacesFor = time.Minute

// hasReplaced says whether a run has been stopped for the slot, which is to run then, unless a later one is due: it was
// dispatched in its time, in all but its record. With missed: all it runs in any case.
func (j *jobState) hasReplaced(s slot, now time.Time) bool {
	spec := j.def.Spec
	if spec.Overlap != job.OverlapReplace || spec.Missed == job.MissedAll || now.Sub(s.due) > spec.KillGrace.Std()+replacesFor {
		return false
	}
	for _, r := range j.live.order {
		if r.Cancel != nil && r.Cancel.Reason == s.replaces() {
			return true
		}
	}
	for r := range j.ended.all {
		if r.Cancel != nil && r.Cancel.Reason == s.replaces() {
			return true
		}
	}
	return false
}

// provenActive says whether run r is known to have been active by the job's own fault when s was due; if not, when it will
// be known by the mere passing of time, zero if never.
func (p *Planner) provenActive(j *jobState, r *liveRun, s slot, now time.Time) (bool, time.Time) {
	if !r.begun() {
		// It proves something only if it really waits for room, now that s is due: workers are there but full.
		if spec := j.spec(r.Run); spec != nil && !s.late && !r.Late && j.live.begun == 0 {
			if p.bar(j, r.Run, spec, now, false) != "" {
				return true, time.Time{}
			}
			w, anybody := p.choose(j, spec, r.Run, now)
			return w == nil && anybody, time.Time{}
		}
		return false, time.Time{}
	}
	if troubled(r) || r.first.After(s.due) {
		return false, time.Time{}
	}
	known := s.due.Add(j.delay(r))
	if r.assigned() { // or else it is between two attempts; one that was given to a worker may have ended by now
		if !p.present(r.Run) {
			return false, time.Time{}
		}
		known = known.Add(p.cfg.WorkerTTL)
		if !now.Before(known) && now.Add(-p.silence).Before(known) { // it may have ended, or its worker may be gone, unheard
			return false, now.Add(hearAgain)
		}
	}
	return !now.Before(known), known
}

// hearAgain is how soon a slot is looked at again for which the store has not been heard long enough.
const hearAgain = 500 * time.Millisecond
