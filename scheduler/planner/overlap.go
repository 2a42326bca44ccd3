package planner

import (
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxQueued is how many slots of one job may wait under the overlap policies queue and allow. Further slots are skipped.
const MaxQueued = 100

// decideAllowed decides a slot of a job whose runs may overlap. nil means that the slot waits.
func (p *Planner) decideAllowed(j *jobState, s slot, now time.Time) *job.Decision {
	queued := 0
	for _, r := range j.live.order {
		if r.Kind != job.KindScheduled || r.ID == s.id {
			continue
		}
		if s.late && r.State == job.Armed && r.Slot.Before(s.next) {
			return nil // late slots run in order: the next is assigned once this one has started
		}
		if r.unstarted() && r.Copies == nil {
			queued++
		}
	}
	if queued >= MaxQueued {
		return p.queueFull(j, s, now)
	}
	return p.dispatch(j, s, now)
}

// queueFull decides a slot with MaxQueued waiting runs before it. A slot that the missed policy has accepted waits. A waiting run
// that can start goes first: it makes room, and must not wait while many slots are skipped one by one.
func (p *Planner) queueFull(j *jobState, s slot, now time.Time) *job.Decision {
	if s.missed {
		return nil
	}
	if d := p.assign(j, now); d != nil {
		return d
	}
	return p.skip(j, s, now, reasonQueueFull())
}

// precedes reports whether r, which waits, goes before a slot that is due at a time. A run that a client has submitted for that
// very time goes after the slot.
func (r *liveRun) precedes(due time.Time) bool {
	return r.Due.Before(due) || r.Due.Equal(due) && r.Kind == job.KindScheduled
}

// activeAt returns the runs before a slot: those that have begun, and those that wait and precede the slot. Runs of a backfill run
// beside those of slots, so they do not count.
func (j *jobState) activeAt(s slot, now time.Time) (active []*liveRun) {
	for _, r := range j.live.order {
		if r.ID != s.id && r.Kind != job.KindBackfill && (r.begun() || r.Active(now) && r.precedes(s.due)) {
			active = append(active, r)
		}
	}
	return active
}

// decideOverlap decides a slot with active runs before it. nil means that the slot waits.
func (p *Planner) decideOverlap(j *jobState, s slot, active []*liveRun, now time.Time) *job.Decision {
	switch j.def.Spec.Overlap {
	case job.OverlapQueue:
		queued := 0
		for _, r := range active {
			if r.Kind == job.KindScheduled && !r.begun() {
				queued++
			}
		}
		if queued >= MaxQueued {
			return p.queueFull(j, s, now)
		}
		return p.createPending(j, s, p.slotRun(j, s, now, reasonBehind+active[0].ID))
	case job.OverlapReplace:
		return p.replace(j, s, active, now)
	}
	j.ensureTrouble().blockedBy = active[0].ID
	for _, r := range active {
		proven, knownAt := p.provenActive(j, r, s, now)
		if proven {
			d := p.skip(j, s, now, reasonActive(r.ID))
			d.Guards = append(d.Guards, job.Guard{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev}) // its end may be on the way
			return d
		}
		if !knownAt.IsZero() {
			p.wakeAt(j, knownAt)
		}
		if r.begun() {
			j.ensureTrouble().blockedBy = r.ID
		}
	}
	return nil
}

// overlaps reports whether a slot that waited for a late run would have met it also without the delay. Then the slot is not missed,
// and the overlap policy decides it. Otherwise a job whose runs take longer than its interval would never catch up.
func (p *Planner) overlaps(j *jobState, s slot) bool {
	o := j.trouble().overlapped
	switch j.def.Spec.Overlap { // it may have changed since
	case job.OverlapSkip, job.OverlapReplace:
		return o.late && !s.due.Before(o.planned) && !s.due.After(o.upTo) && !s.due.Before(p.down(j))
	}
	return false
}

// down returns the time before which slots of a job could not be dispatched.
func (p *Planner) down(j *jobState) time.Time { return job.Later(p.leadSince, j.trouble().downBefore) }

// replace stops the runs before a slot, one at a time.
func (p *Planner) replace(j *jobState, s slot, active []*liveRun, now time.Time) *job.Decision {
	for _, r := range active {
		delayed := r.Late || j.def.Spec.Missed == job.MissedAll && r.Kind == job.KindScheduled && !r.wasActive(s.due)
		if s.missed && delayed { // missed slots run one after the other
			j.ensureTrouble().blockedBy = r.ID
			return nil
		}
		if r.Cancel != nil || j.live.get(r.CopyOf()) != nil { // a copy ends with its run
			continue
		}
		if next, err := r.Stop(job.Cancel{At: now, By: "rota", Reason: reasonReplaced + s.id}); err == nil {
			p.keepPlaces(j, r.Run)
			return &job.Decision{Run: &next, Stop: r.State == job.Running}
		}
	}
	return nil
}

// noteWait remembers since when the slots of j wait, if r was replaced before it started. Otherwise a job whose runs wait for
// longer than its interval would lose its place in each queue with each slot, and might never run.
func (j *jobState) noteWait(r *job.Run) {
	switch {
	case r == nil || r.Kind != job.KindScheduled:
	case r.State == job.Running || len(r.Attempts) > 0:
		if t := j.maybeTrouble; t != nil && !t.queuedSince.IsZero() {
			t.queuedSince = time.Time{}
			j.dropEmptyTrouble()
		}
	case r.State == job.Canceled && r.Cancel != nil && strings.HasPrefix(r.Cancel.Reason, reasonReplaced):
		t := j.ensureTrouble()
		t.queuedSince = j.queuedSince(r)
	}
}

// queuedSince returns the time that decides about the place of r in queues.
func (j *jobState) queuedSince(r *job.Run) time.Time {
	if t := j.maybeTrouble; t != nil && !t.queuedSince.IsZero() && r.Kind == job.KindScheduled {
		return job.Earlier(t.queuedSince, r.Due)
	}
	return r.Due
}

// wasActive reports whether r had begun at a time, or waited for a person.
func (r *liveRun) wasActive(at time.Time) bool {
	return r.Asked() || !r.first.IsZero() && !r.first.After(at)
}

// replaceGrace is how long a stopped run may delay the slot that replaces it, in addition to its kill grace.
const replaceGrace = time.Minute

// hasReplaced reports whether a run was stopped for this slot. Then the slot counts as dispatched in time, although it has
// no record yet, and it runs unless a later slot is due. With missed: all it runs in any case.
func (j *jobState) hasReplaced(s slot, now time.Time) bool {
	spec := j.def.Spec
	if spec.Overlap != job.OverlapReplace || spec.Missed == job.MissedAll || now.Sub(s.due) > spec.KillGrace.Std()+replaceGrace {
		return false
	}
	replaced := func(r *job.Run) bool { return r.Cancel != nil && r.Cancel.Reason == reasonReplaced+s.id }
	for r := range j.all {
		if replaced(r) {
			return true
		}
	}
	return false
}

// provenActive reports whether r was certainly active when s was due, and would have been without any delay by the cluster. This
// holds if the store has no newer record of r. If it is not certain yet, provenActive returns the time from which it is certain
// if r does not change; zero means never.
func (p *Planner) provenActive(j *jobState, r *liveRun, s slot, now time.Time) (bool, time.Time) {
	if stillAsked(r, s) {
		return true, time.Time{}
	}
	if r.waits() {
		// A waiting run counts only if it still waits for room now that s is due: there are workers, but all are full.
		begun := j.live.begun - j.live.backfilled()
		if r.begun() { // a person has approved it
			begun--
		}
		if spec := j.spec(r.Run); spec != nil && !s.late && !r.Late && begun == 0 {
			if p.throttleReason(j, r.Run, spec, now, false) != "" {
				return true, time.Time{}
			}
			w, accepted := p.choose(j, spec, r.Run, now)
			return w == nil && accepted, time.Time{}
		}
		return false, time.Time{}
	}
	if j.disturbed(r) || r.first.After(s.due) {
		return false, time.Time{}
	}
	knownAt := s.due.Add(j.delay(r))
	if r.assigned() || r.Copies != nil { // otherwise r waits for its next attempt, and such a run counts as active
		if r.Copies == nil && !p.present(r.Run) {
			return false, time.Time{}
		}
		knownAt = knownAt.Add(p.cfg.WorkerTTL)
	}
	return !now.Before(knownAt), knownAt
}
