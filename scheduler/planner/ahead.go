package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// early reports whether the run is at a worker that may not start it yet.
func (r *liveRun) early(now time.Time) bool { return r.State == job.Armed && r.Due.After(now) }

// undecided returns the first run that was armed ahead of its slot and taken back before it; nil if there is none. Its slot
// has to be decided again.
func (s *liveRuns) undecided() *liveRun {
	for _, r := range s.order {
		if r.Ahead && r.State == job.Pending {
			return r
		}
	}
	return nil
}

// recall takes back a run that was armed ahead, if the run may no longer start unchanged, or if another run of the job goes
// first.
func (p *Planner) recall(j *jobState, now time.Time) *job.Decision {
	if j.live.begun == 0 {
		return nil
	}
	for _, r := range j.live.order {
		if !r.early(now) {
			continue
		}
		if why := p.recallReason(j, r, now); why != "" {
			if next, err := r.Recall(why); err == nil {
				return &job.Decision{Run: &next}
			}
		}
	}
	return nil
}

// recallReason returns why a run that was armed ahead must be taken back; "" if it may stay armed.
func (p *Planner) recallReason(j *jobState, r *liveRun, now time.Time) string {
	switch {
	case p.paused(j):
		return reasonPaused
	case r.Spec == nil && j.def != nil && (r.Generation != j.def.Generation || r.Rev < j.def.Rev): // changed, or recreated
		return reasonJobChanged
	case j.throttle != nil && j.throttle.breaker.Open && r.Spec == nil && r.Due.Before(j.throttle.breaker.Until):
		return j.breakerReason()
	case p.mayOverlap(j, r.Run) || r.Attempt > 1: // a run that waits for its retry blocks the job in any case
		return ""
	}
	for _, o := range j.live.order {
		if o.Due.After(now) {
			break
		}
		if o.State == job.Pending && o.Kind != job.KindBackfill {
			return job.ReasonNotYet
		}
	}
	// A due slot goes before a delayed run. If r.Ahead is true, the cursor has already passed the slot of r. Then a due slot
	// means that the cursor was put back, and r stays armed.
	if due, ok := p.nextDue(j); ok && !due.After(now) && !r.Ahead {
		return job.ReasonNotYet
	}
	return ""
}

// mayOverlap reports whether r may run while other runs of its job do.
func (p *Planner) mayOverlap(j *jobState, r *job.Run) bool {
	spec := j.spec(r)
	return r.Job == job.AdHoc || r.Kind == job.KindBackfill || spec != nil && spec.Overlap == job.OverlapAllow
}

// armSlot assigns a slot's run to a worker ahead of its time. The slot must be due soon.
func (p *Planner) armSlot(j *jobState, s slot, now time.Time) *job.Decision {
	armed := p.armAhead(j, p.slotRun(j, s, now, ""), now)
	if armed == nil {
		return nil
	}
	armed.Ahead = true
	return p.createRun(j, s, armed)
}

// armPending does the same for a pending run that is due later, a delayed run or a retry, if it is due soon.
func (p *Planner) armPending(j *jobState, r *liveRun, now time.Time) *job.Decision {
	if !p.isSoon(j, r.Due, now) {
		return nil
	}
	if due, ok := p.nextDue(j); ok && !due.After(r.Due) && !p.mayOverlap(j, r.Run) { // the slot goes first
		return nil
	}
	armed := p.armAhead(j, *r.Run, now)
	if armed == nil {
		return nil
	}
	return &job.Decision{Run: armed, JobRev: j.rev(r.Run)}
}

// isSoon reports whether a run with the due time due may be armed now. It also sets the job's timer.
func (p *Planner) isSoon(j *jobState, due, now time.Time) bool {
	from := due.Add(-p.cfg.ArmAhead)
	if from.After(now) {
		p.wakeAt(j, from)
		return false
	}
	p.wakeAt(j, due)
	return true
}

// armAhead returns r, assigned to a worker with free room. It returns nil if no worker has free room or if r may not be armed
// now.
func (p *Planner) armAhead(j *jobState, r job.Run, now time.Time) *job.Run {
	spec := j.spec(&r)
	if spec == nil || spreads(spec, &r) || r.NeedsApproval(spec) || !p.mayAssign(j, &r) || !p.isFirst(j, &r) {
		return nil
	}
	if j.overtakes(&r, spec, now) {
		return nil
	}
	if p.throttleReason(j, &r, spec, now, false) != "" {
		return nil // r waits: it is assigned when it is due, if it may start then
	}
	w, _ := p.choose(j, spec, &r, now)
	if w == nil {
		p.waitForRoom(j, spec, &r, now)
		return nil
	}
	return p.assignTo(j, w, r, now)
}

// mayAssign reports whether the record of r, the definition of its job and the pauses allow an assignment.
func (p *Planner) mayAssign(j *jobState, r *job.Run) bool {
	return !j.unreadableSpec(r) && !p.paused(j) && r.ID != j.trouble().oversized
}

// heldBack returns the reason why a rate, a limit or the breaker prevents the start of r; "" if r may start. r does not pass an
// earlier run of its job that waits for one of these.
func (p *Planner) heldBack(j *jobState, r *job.Run, spec *job.Spec, now time.Time) string {
	why := p.throttleReason(j, r, spec, now, false)
	if why == "" && j.overtakes(r, spec, now) {
		return reasonOverlap
	}
	return why
}

// overtakes reports whether r would pass a due run of its job that waits for a limit, or for the rate or the breaker of the job.
// Otherwise the latest slot would always be the trial of a breaker, and earlier runs would never end.
func (j *jobState) overtakes(r *job.Run, spec *job.Spec, now time.Time) bool {
	open := j.throttle != nil && j.throttle.breaker.Open
	if len(spec.Limits) == 0 && j.rate() == 0 && !open || r.Spec != nil {
		return false
	}
	for _, o := range j.live.order {
		if o.Due.After(now) || !o.Due.Before(r.Due) {
			break
		}
		if o.ID != r.ID && o.State == job.Pending && !o.Ahead && o.Spec == nil && o.Kind != job.KindBackfill {
			return true
		}
	}
	return false
}

// isFirst reports whether r, which is due later, waits for no other run of its job: none that has begun, is armed, or is due
// before r. Runs that may overlap never wait for each other.
func (p *Planner) isFirst(j *jobState, r *job.Run) bool {
	if p.mayOverlap(j, r) {
		return true
	}
	for _, o := range j.live.order {
		waits := !o.Due.After(r.Due)
		if r.Kind == job.KindScheduled {
			waits = o.precedes(r.Due)
		}
		if o.ID != r.ID && o.Kind != job.KindBackfill && (o.begun() || waits) {
			return false
		}
	}
	return true
}

// assignTo assigns r to w under the present definition. A due run no longer counts as armed ahead. nil means that r cannot
// be assigned.
func (p *Planner) assignTo(j *jobState, w *job.Worker, r job.Run, now time.Time) *job.Run {
	next, err := r.Assign(w)
	if err != nil {
		return nil
	}
	if next.Spec == nil && j.def != nil {
		next.Generation = j.def.Generation
	}
	next.Ahead = next.Ahead && next.Due.After(now)
	next.Followed = p.isFollowed(j, &next)
	next.Limits = nil
	if spec := j.spec(&next); spec != nil {
		next.Limits = spec.Limits
	}
	return &next
}

// decideAgain decides the slot of a run that was armed ahead and taken back, as if it had never been armed. It uses the
// definition that applies when the slot is due.
func (p *Planner) decideAgain(j *jobState, r *liveRun, now time.Time) *job.Decision {
	s := slot{position: position{after: r.Slot.Add(-1), next: r.Slot}, id: r.ID, run: r.Run, due: r.Due}
	switch {
	case p.wasPaused(j, r.Slot):
		return p.skip(j, s, now, reasonPaused)
	case !r.Slot.After(j.def.Created) || !isSlot(j, r.Slot):
		return p.skip(j, s, now, reasonChanged)
	}
	s.due = r.Slot.Add(j.when.Offset())
	switch {
	case s.due.After(now) && !p.isSoon(j, s.due, now):
		return nil
	case s.due.After(now):
		return p.armSlot(j, s, now)
	case p.paused(j) && !p.pausedAt(j).Before(s.due): // it was due before the pause, so it runs once the job is resumed
		return nil
	case p.paused(j):
		return p.skip(j, s, now, reasonPaused)
	}
	return p.decideDue(j, s, now)
}

// wasPaused reports whether the slot lies in a pause that is over.
func (p *Planner) wasPaused(j *jobState, slot time.Time) bool {
	return slices.ContainsFunc(p.pauses(j, slot.Add(-1)), func(s policy.Interval) bool { return s.Holds(slot) })
}
