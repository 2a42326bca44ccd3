package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// early says whether the run is with a worker that may not begin it yet.
func (r *liveRun) early(now time.Time) bool { return r.State == job.Armed && r.Due.After(now) }

// undecided returns the first of the runs that were armed ahead of their slot and taken back before it: that slot is yet to
// be decided. nil if there is none.
func (s *liveRuns) undecided() *liveRun {
	for _, r := range s.order {
		if r.Ahead && r.State == job.Pending {
			return r
		}
	}
	return nil
}

// recall takes back what was armed ahead of its time, if it may not begin then as it is, or if something else of the job
// goes first.
func (p *Planner) recall(j *jobState, now time.Time) *job.Decision {
	if j.live.begun == 0 {
		return nil
	}
	for _, r := range j.live.order {
		if !r.early(now) {
			continue
		}
		if why := p.whyRecall(j, r, now); why != "" {
			if next, err := r.Recall(why); err == nil {
				return &job.Decision{Run: &next}
			}
		}
	}
	return nil
}

// whyRecall says why a run that was armed ahead is to be taken back; "" if it is not.
func (p *Planner) whyRecall(j *jobState, r *liveRun, now time.Time) string {
	switch {
	case p.paused(j):
		return reasonPaused
	case r.Spec == nil && j.def != nil && (r.Generation != j.def.Generation || r.Rev < j.def.Rev): // or it was made anew: see worker.changed
		return "the job was changed"
	case j.throttle != nil && j.throttle.breaker.Open && r.Spec == nil && r.Due.Before(j.throttle.breaker.Until):
		return j.isOpen()
	case p.overlaps(j, r.Run) || r.Attempt > 1: // one that waits for its retry occupies the job in any case
		return ""
	}
	for _, o := range j.live.order {
		if o.Due.After(now) {
			break
		}
		if o.State == job.Pending {
			return job.ReasonNotYet
		}
	}
	// A slot that is due goes first; but not before a later slot, for then the cursor was put back, and it has been decided.
	if due, ok := p.nextDue(j); ok && !due.After(now) && !r.Ahead {
		return job.ReasonNotYet
	}
	return ""
}

// overlaps says whether r may run while other runs of its job do.
func (p *Planner) overlaps(j *jobState, r *job.Run) bool {
	spec := j.spec(r)
	return r.Job == job.AdHoc || spec != nil && spec.Overlap == job.OverlapAllow
}

// armSlot gives the run of a slot to a worker ahead of its time, or notes when to look again.
func (p *Planner) armSlot(j *jobState, s slot, now time.Time) *job.Decision {
	if !p.soon(j, s.due, now) {
		return nil
	}
	armed := p.armAhead(j, p.run(j, s, now, ""), now)
	if armed == nil {
		return nil
	}
	armed.Ahead = true
	return p.enter(j, s, *armed)
}

// armPending is armSlot for a run whose time is known and has not come: a delayed one or a retry.
func (p *Planner) armPending(j *jobState, r *liveRun, now time.Time) *job.Decision {
	if !p.soon(j, r.Due, now) {
		return nil
	}
	if due, ok := p.nextDue(j); ok && !due.After(r.Due) && !p.overlaps(j, r.Run) { // the slot goes first
		return nil
	}
	armed := p.armAhead(j, *r.Run, now)
	if armed == nil {
		return nil
	}
	return &job.Decision{Run: armed, JobRev: j.rev(r.Run)}
}

// soon says whether what is due then may be armed now, after noting when to look again.
func (p *Planner) soon(j *jobState, due, now time.Time) bool {
	from := due.Add(-p.cfg.ArmAhead)
	if from.After(now) {
		p.wakeAt(j, from)
		return false
	}
	p.wakeAt(j, due)
	return true
}

// armAhead returns r as given to a worker with free room, if nothing of its job is in the way; otherwise nil.
func (p *Planner) armAhead(j *jobState, r job.Run, now time.Time) *job.Run {
	spec := j.spec(&r)
	if spec == nil || j.obscure(&r) || p.paused(j) || r.ID == j.told().oversized || !p.clear(j, &r) || j.passes(&r, spec, now) {
		return nil
	}
	if p.bar(j, &r, spec, now, false) != "" {
		return nil // it is given out in its time, if it may be then
	}
	w, _ := p.choose(j, spec, &r, now)
	if w == nil {
		p.wait(j, demandKey(spec), spec, r.Due, now)
		return nil
	}
	return j.give(r, w, now)
}

// passes says whether r would take the place of a run of its job that is due and waits, at a rate or a limit of theirs.
func (j *jobState) passes(r *job.Run, spec *job.Spec, now time.Time) bool {
	if len(spec.Limits) == 0 && j.rate() == 0 || r.Spec != nil {
		return false
	}
	for _, o := range j.live.order {
		if o.Due.After(now) || !o.Due.Before(r.Due) {
			break
		}
		if o.ID != r.ID && o.State == job.Pending && !o.Ahead && o.Spec == nil {
			return true
		}
	}
	return false
}

// clear says whether no other run of the job is in the way of r, which is due later: unless they may overlap, none that has
// begun or is armed, and none that is due before.
func (p *Planner) clear(j *jobState, r *job.Run) bool {
	if p.overlaps(j, r) {
		return true
	}
	for _, o := range j.live.order {
		if o.ID != r.ID && (o.begun() || !o.Due.After(r.Due)) {
			return false
		}
	}
	return true
}

// give assigns r to w under the definition that is in force. What is given out in its time is decided.
func (j *jobState) give(r job.Run, w *job.Worker, now time.Time) *job.Run {
	next, err := r.Assign(w)
	if err != nil {
		return nil
	}
	if next.Spec == nil && j.def != nil {
		next.Generation = j.def.Generation
	}
	next.Ahead = next.Ahead && next.Due.After(now)
	next.Limits = nil
	if spec := j.spec(&next); spec != nil {
		next.Limits = spec.Limits
	}
	return &next
}

// decideAgain decides the slot of a run that was armed ahead and taken back before its time, as if it had never been: when
// its time has come, by the definition that is in force then.
func (p *Planner) decideAgain(j *jobState, r *liveRun, now time.Time) *job.Decision {
	s := slot{position: position{after: r.Slot.Add(-1), next: r.Slot}, run: r.Run, due: r.Due}
	switch {
	case p.passedPaused(j, r.Slot):
		return p.skip(j, s, now, reasonPaused)
	case !r.Slot.After(j.scheduled()) || !isSlot(j, r.Slot):
		return p.skip(j, s, now, reasonChanged)
	}
	s.due = r.Slot.Add(j.when.Offset())
	switch {
	case s.due.After(now):
		return p.armSlot(j, s, now)
	case p.paused(j) && !p.pausedAt(j).Before(s.due): // it is owed, when the job is resumed
		return nil
	case p.paused(j):
		return p.skip(j, s, now, reasonPaused)
	}
	return p.decideDue(j, s, now)
}

// passedPaused says whether a slot's time came while the job was paused, which it is no longer.
func (p *Planner) passedPaused(j *jobState, slot time.Time) bool {
	return slices.ContainsFunc(p.pauses(j, slot.Add(-1)), func(s policy.Stretch) bool { return s.Holds(slot) })
}

// isSlot says whether the job has a slot at the given time.
func isSlot(j *jobState, at time.Time) bool {
	if j.when == nil {
		return false
	}
	next, ok := j.when.Next(at.Add(-1))
	return ok && next.Equal(at)
}
