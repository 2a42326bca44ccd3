package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// slot is the next slot of a job.
type slot struct {
	position
	run    *job.Run // its run, if that was armed ahead and taken back; nil: it has none yet
	due    time.Time
	missed bool // its time passed while nobody could dispatch, or behind a run that was late
	late   bool // missed, or so old that the slot after it is due as well
}

func (s slot) id() string { return job.SlotID(s.next) }

// decideSlot decides the job's next slot if its time has come, and arms its run ahead if it comes soon.
func (p *Planner) decideSlot(j *jobState, now time.Time) *job.Decision {
	if j.def == nil {
		return nil
	}
	if r := j.live.undecided(); r != nil { // before all slots that the cursor has not passed
		return p.decideAgain(j, r, now)
	}
	if j.when == nil || p.paused(j) {
		return nil
	}
	if d := p.writeOff(j); d != nil {
		return d
	}
	s := slot{position: p.position(j)}
	if s.next.IsZero() {
		return nil
	}
	if j.told().taken == s.id() || j.live.get(s.id()) != nil {
		return p.pass(j, s.position)
	}
	if s.due = s.next.Add(j.when.Offset()); s.due.After(now) {
		return p.armSlot(j, s, now)
	}
	if s.due.Before(p.leadSince) { // the cursor may have been put back when nobody here knew it
		if last := j.lastSlot(); last.After(s.after) {
			return &job.Decision{JobRev: j.def.Rev, Cursor: p.cursor(j, s.position, last)}
		}
	}
	return p.decideDue(j, s, now)
}

// decideDue decides a slot whose time has come.
func (p *Planner) decideDue(j *jobState, s slot, now time.Time) *job.Decision {
	before := job.Later(p.leadSince, j.told().missedBefore)
	if s.missed = s.due.Before(before) && !j.hasReplaced(s, now); s.missed {
		switch r := policy.Missed(j.when, j.def.Spec, s.after, before, now, p.pauses(j, s.after)); {
		case r != nil && s.run != nil:
			return p.skip(j, s, now, r.Reason)
		case r != nil:
			return p.skipRange(j, s.position, r, now)
		}
	}
	following, _, more := p.owedAfter(j, s.next)
	s.late = s.missed || more && !following.Add(j.when.Offset()).After(now)
	switch overlap := j.def.Spec.Overlap; {
	case overlap == job.OverlapAllow:
		return p.decideAllowed(j, s, now)
	case overlap == job.OverlapReplace && s.late && !s.missed:
		return p.skip(j, s, now, "overlap: a later slot replaces it")
	}
	if active := j.activeAt(s, now); len(active) > 0 {
		return p.decideOverlap(j, s, active, now)
	}
	if o := j.told().overlapped; o.covers(s.due) {
		return p.skip(j, s, now, "overlap: run "+o.run+" was still active")
	}
	return p.fire(j, s, now)
}

// Why a slot does not run after the schedule was changed.
const (
	reasonChanged   = "the schedule was changed before its time could be used"
	reasonOvertaken = "the schedule was changed when a later slot had been given out already"
)

// writeOff records the slots that are owed no longer, since the job was given another schedule or paused.
func (p *Planner) writeOff(j *jobState) *job.Decision {
	at := p.position(j)
	since, _ := p.since(j)
	if c := j.cursor; tells(c) {
		changed, begin := job.Later(j.def.Scheduled, j.scheduled()), j.scheduled()
		if changed.IsZero() { // a record of an earlier build
			changed, begin = since, since
		}
		old := c.Generation < j.def.SinceGeneration
		if old && c.After.After(begin) { // a slot of the old schedule was armed ahead
			if r := policy.Between(j.when, begin, c.After.Add(-1), reasonOvertaken); r != nil {
				return p.skipUpTo(j, at, r, changed, c.After)
			}
		}
		begin = j.scheduled()
		gone := old && !c.Next.After(j.def.Scheduled) && !isSlot(j, c.Next) // its time had not come
		if !c.Next.IsZero() && (gone || begin.After(c.After) && !c.Next.After(begin)) {
			r := &policy.Range{From: c.Next, To: c.Next, Count: 1, Partial: true, Reason: reasonChanged}
			return p.skipUpTo(j, at, r, changed, job.Later(begin, c.After))
		}
	}
	if !since.After(at.after) { // as nearly always
		return nil
	}
	if _, passed, _ := p.owedAfter(j, at.after); !passed.IsZero() {
		if r := policy.Between(j.when, at.after, passed, reasonPaused); r != nil {
			return p.skipUpTo(j, at, r, passed, passed)
		}
	}
	return nil
}

// scheduled is after which slot the job's present schedule is in force; zero if the record does not tell.
func (j *jobState) scheduled() time.Time { return policy.OwedAfter(j.def, j.when) }

// skipRange moves the cursor past a range of slots and says why they do not run.
func (p *Planner) skipRange(j *jobState, at position, r *policy.Range, now time.Time) *job.Decision {
	return p.skipUpTo(j, at, r, now, r.To)
}

// skipUpTo is skipRange with the cursor moved to after, which is not before the end of the range.
func (p *Planner) skipUpTo(j *jobState, at position, r *policy.Range, now, after time.Time) *job.Decision {
	return &job.Decision{
		JobRev: j.def.Rev,
		Cursor: p.cursor(j, at, after),
		Event: &job.Event{
			ID: eventID(now, r.From), Kind: job.EventSkipped, Job: j.name, At: now, Reason: r.Reason,
			From: r.From, To: r.To, Count: r.Count, Partial: r.Partial,
		},
	}
}

// pass moves the cursor past a slot that has a record already.
func (p *Planner) pass(j *jobState, at position) *job.Decision {
	return &job.Decision{JobRev: j.def.Rev, Cursor: p.cursor(j, at, at.next)}
}

// cursor is the job's cursor, moved to after.
func (p *Planner) cursor(j *jobState, at position, after time.Time) *job.Cursor {
	next, _ := j.when.Next(after)
	return &job.Cursor{Job: j.name, After: after, Next: next, Generation: j.def.Generation, Rev: at.rev}
}

// fire makes the slot's run, armed if a worker has room.
func (p *Planner) fire(j *jobState, s slot, now time.Time) *job.Decision {
	r := p.run(j, s, now, "")
	if j.passes(&r, j.def.Spec, now) {
		r.Reason = reasonHeld
		return p.enter(j, s, r)
	}
	if why := p.bar(j, &r, j.def.Spec, now, false); why != "" {
		r.Reason = why
		return p.enter(j, s, r)
	}
	w, anybody := p.choose(j, j.def.Spec, &r, now)
	if w == nil {
		r.Reason = waitReason(j.def.Spec, anybody)
		return p.enter(j, s, r)
	}
	if armed := j.give(r, w, now); armed != nil {
		r = *armed
	}
	return p.enter(j, s, r)
}

// skip makes the slot's run as one that never starts.
func (p *Planner) skip(j *jobState, s slot, now time.Time, reason string) *job.Decision {
	r := p.run(j, s, now, reason)
	r.State, r.Finished, r.Late = job.Skipped, now, false
	return p.enter(j, s, r)
}

// run is the slot's run, pending for a reason.
func (p *Planner) run(j *jobState, s slot, now time.Time, reason string) job.Run {
	r := job.Run{Job: j.name, ID: s.id(), Kind: job.KindScheduled, Slot: s.next, State: job.Pending, Created: now}
	if s.run != nil {
		r = *s.run
	}
	r.Due, r.Reason, r.Late, r.Ahead, r.Generation = s.due, reason, s.late, false, j.def.Generation
	return r
}

// enter creates the slot's run and moves the cursor past the slot. What was armed ahead has had that done.
func (p *Planner) enter(j *jobState, s slot, r job.Run) *job.Decision {
	d := &job.Decision{JobRev: j.def.Rev, Run: &r}
	if s.run == nil {
		d.Cursor = p.cursor(j, s.position, s.next)
	}
	return d
}

// eventID is the same for the same range.
func eventID(at, from time.Time) string { return job.EventID(at, from.UTC().Format(job.EventStamp)) }
