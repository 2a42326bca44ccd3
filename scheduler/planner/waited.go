package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// skipWaited skips a run that has waited for its first start longer than the start_within of its job. It waits for whatever holds
// it back: room, a limit, a rate, an earlier run, a pause or its parents.
func (p *Planner) skipWaited(j *jobState, now time.Time) *job.Decision {
	if j.def == nil || j.def.Spec.StartWithin == 0 {
		return nil
	}
	for _, r := range j.live.order {
		if r.Due.After(now) {
			break
		}
		switch until, bound := p.startsBy(j, r.Run); {
		case !bound:
		case now.Before(until):
			p.wakeAt(j, until)
		default:
			if next, err := r.Skip(reasonWaited(j.def.Spec.StartWithin), now); err == nil {
				return &job.Decision{Run: &next}
			}
		}
	}
	return nil
}

// startsBy returns the time by which r has to begin; false if start_within does not apply to it.
func (p *Planner) startsBy(j *jobState, r *job.Run) (until time.Time, bound bool) {
	if j.def == nil || j.def.Spec.StartWithin == 0 || r.State != job.Pending || r.Ahead || r.Spec != nil || r.HasBegun() {
		return time.Time{}, false
	}
	return p.waitsSince(r).Add(j.def.Spec.StartWithin.Std()), true
}

// waitsSince returns the time from which start_within counts for r: its due time, or its creation if that was later. The run of a
// missed slot waits since the leader created it. A step waits for its parents too, so it waits since its workflow began. A run that
// a person has approved waits since then.
func (p *Planner) waitsSince(r *job.Run) time.Time {
	own := job.Later(p.firstDue(r), r.Created)
	switch {
	case len(r.After) == 0 || r.Asked():
		return own
	case r.Kind != job.KindScheduled: // its record was created with its workflow
		return r.Created
	}
	since := own
	p.roots(r, make(map[string]bool), func(root *job.Run) {
		since = job.Earlier(since, job.Later(p.slotDue(root), root.Created))
	})
	return since
}

// firstDue returns when r was due for its first attempt. If a delayed run has had attempts, its record does not say it. Then
// firstDue returns the time of the first attempt as this planner has seen it. After a takeover, that is by the worker's clock, and
// not later than the takeover.
func (p *Planner) firstDue(r *job.Run) time.Time {
	live := p.jobs[r.Job].live.byID[r.ID]
	switch {
	case len(r.Attempts) == 0:
		return r.Due
	case r.Asked():
		return r.Approval.At
	case r.Kind == job.KindDelayed && live != nil:
		return live.first
	case r.Kind != job.KindScheduled || len(r.After) > 0:
		return r.Created
	}
	return p.slotDue(r)
}

// slotDue returns when the slot of a run without parents was due.
func (p *Planner) slotDue(r *job.Run) time.Time {
	if j := p.jobs[r.Job]; j.when != nil {
		return r.Slot.Add(j.when.Offset())
	}
	return r.Slot
}

// roots calls found for each run without parents from which the scheduled run r of a step descends. It leaves out runs that history
// no longer has. seen has the names of the runs that it has visited.
func (p *Planner) roots(r *job.Run, seen map[string]bool, found func(*job.Run)) {
	for i := range r.After {
		a := &r.After[i]
		j, id := p.jobs[a.Job], a.RunID(r)
		name := a.Job + "/" + id
		if j == nil || seen[name] {
			continue
		}
		seen[name] = true
		switch parent := j.ended.get(id); {
		case parent == nil:
		case len(parent.After) > 0:
			p.roots(parent, seen, found)
		default:
			found(parent)
		}
	}
}
