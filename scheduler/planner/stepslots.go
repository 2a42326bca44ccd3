package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// decideStep decides the first slot of a step whose parents have all ended. Slots nearly always end in order; Cursor.Beyond holds
// those that did not.
func (p *Planner) decideStep(j *jobState, now time.Time) *job.Decision {
	at := p.stepPosition(j)
	open := p.openSlots(j, at)
	for _, slot := range open {
		next := p.moveStep(j, at, open, slot)
		if next == nil {
			continue
		}
		r := job.Run{
			Job: j.name, ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: now, State: job.Pending, Created: now,
			Generation: j.def.Generation,
		}
		r.Params, r.Defaulted = j.def.Spec.DefaultParams()
		for _, a := range j.def.Spec.After {
			r.After = append(r.After, job.Parent{Job: a.Job, When: a.When})
		}
		if j.run(r.ID) != nil || j.trouble().taken == r.ID || p.steps.bad[r.Name()] { // the slot has a record already
			return &job.Decision{JobRev: j.def.Rev, Cursor: next}
		}
		if d := p.followParents(j, r, now); d != nil {
			d.JobRev, d.Cursor = j.def.Rev, next
			return d
		}
	}
	return nil
}

// decideWaiting decides a run whose record waits for its parents: a step of a workflow that a client or a backfill started.
func (p *Planner) decideWaiting(j *jobState, now time.Time) *job.Decision {
	from := len(j.live.order)
	for from > 0 && j.live.order[from-1].AwaitsParents() {
		from--
	}
	for _, waiting := range j.live.order[from:] {
		r := *waiting.Run
		r.Due = now
		if j.def != nil {
			r.Generation = j.def.Generation
		}
		if d := p.followParents(j, r, now); d != nil {
			if r.Kind == job.KindBackfill && !p.maySpare(j, d.Run, now) {
				p.wakeAt(j, now.Add(backfillPoll))
				if d = postponed(waiting.Run, d.Run); d == nil {
					continue
				}
			}
			d.JobRev = j.rev(&r)
			return d
		}
	}
	return nil
}

// followParents decides the run r of a step, if its parents have ended. The decision depends on their records.
func (p *Planner) followParents(j *jobState, r job.Run, now time.Time) *job.Decision {
	var guards []job.Guard
	v := workflow.Decide(&r, func(a job.Parent) workflow.Standing {
		s, guard := p.standing(&r, a)
		guards = append(guards, guard)
		return s
	})
	if v.Waits != "" {
		return nil
	}
	r.After, r.SlotSkipped = v.After, v.Skip != "" && v.SlotSkipped
	if v.Skip == "" {
		v.Skip = unfit(j.spec(&r), &r)
	}
	if v.Skip == "" {
		v.Skip = p.placeStep(j, &r, now)
	}
	if v.Skip != "" {
		skipped, err := r.Skip(v.Skip, now)
		if err != nil {
			return nil
		}
		r = skipped
	}
	return &job.Decision{Run: &r, Guards: guards}
}

// unfit says why the run r of a step must not run, although its parents allow it; "" if it may. Its slot may be on a day that is
// off, or it may lack a parameter.
func unfit(spec *job.Spec, r *job.Run) string {
	if spec == nil {
		return ""
	}
	if off := policy.StepOff(spec, r.Slot); off != "" {
		return reasonOff(off)
	}
	if name := spec.MissingParam(r.Params); name != "" {
		return reasonNoParam(name)
	}
	return ""
}

// standing returns how the parent a of the run r stands, and the record on which that depends.
func (p *Planner) standing(r *job.Run, a job.Parent) (workflow.Standing, job.Guard) {
	id := a.RunID(r)
	guard := job.Guard{Kind: job.RecordRun, Name: a.Job + "/" + id}
	parent := p.jobs[a.Job]
	if parent != nil {
		if ended := parent.ended.get(id); ended != nil {
			guard.Rev = ended.Rev
			return workflow.Standing{Run: ended}, guard
		}
		if parent.live.get(id) != nil {
			return workflow.Standing{}, guard
		}
	}
	// A run that continues the workflow of a slot may follow the run of a step that has not decided the slot yet.
	ofSlot := r.Kind == job.KindScheduled || r.Kind == job.KindRetry && a.ID == job.SlotID(r.Slot)
	switch {
	case p.steps.bad[guard.Name]: // it waits until the record is repaired or removed
		return workflow.Standing{}, guard
	case parent == nil || parent.def == nil && !parent.unreadable:
		return workflow.Standing{Missing: true, NoJob: true}, job.Guard{Kind: job.RecordJob, Name: a.Job}
	case !ofSlot || p.getsNone(parent, r.Slot, make(map[*jobState]bool)):
		return workflow.Standing{Missing: true}, guard
	}
	return workflow.Standing{}, guard
}

// placeStep assigns r, whose parents have ended, to a worker with room, or sets the reason why it waits. It returns why r must be
// skipped instead; "" if it need not.
func (p *Planner) placeStep(j *jobState, r *job.Run, now time.Time) (skip string) {
	spec, waiting, active := j.spec(r), 0, false
	if spec == nil {
		return ""
	}
	if within := spec.StartWithin; within > 0 && r.Spec == nil && !now.Before(p.waitsSince(r).Add(within.Std())) {
		return reasonWaited(within)
	}
	for _, o := range j.live.order {
		if o.AwaitsParents() || o.Kind == job.KindBackfill { // r itself awaits its parents, if it has a record
			continue
		}
		if o.unstarted() && o.Kind == job.KindScheduled {
			waiting++
		}
		active = active || o.begun() || o.Active(now)
	}
	switch {
	case waiting >= MaxQueued && r.Kind == job.KindScheduled:
		return reasonQueueFull()
	case p.paused(j):
		r.Reason = reasonPaused
	case active && !p.mayOverlap(j, r):
		r.Reason = reasonOverlap
	case !p.mayAssign(j, r):
		r.Reason = job.ReasonNew
	case r.NeedsApproval(spec):
		*r = r.Ask(spec.Approve, now)
	default:
		if r.Reason = p.heldBack(j, r, spec, now); r.Reason != "" {
			return ""
		}
		w, accepted := p.choose(j, spec, r, now)
		if w == nil {
			r.Reason = p.noWorkerReason(spec, r, accepted)
		} else if armed := p.assignTo(j, w, *r, now); armed != nil {
			*r = *armed
		}
	}
	return ""
}

// moveStep returns the cursor of a step after it has decided slot. open are its undecided slots. nil means that slot must wait,
// because too many slots have overtaken an earlier one.
func (p *Planner) moveStep(j *jobState, at *job.Cursor, open []time.Time, slot time.Time) *job.Cursor {
	upTo := job.WhenParentsEnd // the cursor may pass no slot that is undecided, here or at a parent
	if i := slices.IndexFunc(open, func(t time.Time) bool { return !t.Equal(slot) }); i >= 0 {
		upTo = open[i].Add(-1)
	}
	for _, a := range j.def.Spec.After {
		if parent := p.jobs[a.Job]; parent != nil && parent.def != nil {
			if passed := p.passed(parent); passed != nil {
				upTo = job.Earlier(upTo, passed.After)
			} else {
				upTo = at.After
			}
		}
	}
	next := *at
	next.Next, next.Generation, next.Beyond = time.Time{}, j.def.Generation, nil
	decided := append(slices.Clone(at.Beyond), slot)
	slices.SortFunc(decided, time.Time.Compare)
	for _, t := range decided {
		if !t.After(upTo) {
			next.After = job.Later(next.After, t)
		} else {
			next.Beyond = append(next.Beyond, t)
		}
	}
	if len(next.Beyond) > job.MaxBeyond {
		return nil
	}
	return &next
}
