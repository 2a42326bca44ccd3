package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// position is where a job stands among its slots: all up to after are decided, next is the next one, zero if there is
// none. rev is that of the cursor's record.
type position struct {
	after, next time.Time
	rev         int64
}

// paused says whether the job decides no slots and begins no runs.
func (p *Planner) paused(j *jobState) bool {
	return p.gate.Paused != nil || j.def != nil && j.def.Paused != nil
}

// since is the instant from which the job's slots are owed, and why.
func (p *Planner) since(j *jobState) (time.Time, string) {
	if p.gate.Since.After(j.def.Since) {
		return p.gate.Since, job.SinceResumed
	}
	return j.def.Since, j.def.SinceReason
}

// position derives where the job stands from its cursor and from what happened to its definition since.
func (p *Planner) position(j *jobState) position {
	since, _ := p.since(j)
	if j.cursor == nil {
		return j.from(later(since, j.lastSlot()), 0)
	}
	if j.cursor.After.IsZero() { // nobody can read it, and nobody here has known it
		return j.from(later(since, j.lastSlot()), j.cursor.Rev)
	}
	if since.After(j.cursor.After) {
		return j.from(since, j.cursor.Rev)
	}
	if j.cursor.Generation != j.def.Generation {
		return j.from(j.cursor.After, j.cursor.Rev)
	}
	return position{after: j.cursor.After, next: j.cursor.Next, rev: j.cursor.Rev}
}

func (j *jobState) from(after time.Time, rev int64) position {
	next, _ := j.when.Next(after)
	return position{after: after, next: next, rev: rev}
}

// lastSlot is the latest slot that has a run, should the cursor that knew it be gone or put back. What was armed ahead, or ended
// before its slot, is left out: there may be slots before it, and those that have a run are passed anyway.
func (j *jobState) lastSlot() (last time.Time) {
	for _, r := range j.live.order {
		if r.Kind == job.KindScheduled && !r.Ahead {
			last = later(last, r.Slot)
		}
	}
	for _, r := range j.ended.runs {
		if r.Kind == job.KindScheduled && !r.Ended().Before(r.Slot) {
			last = later(last, r.Slot)
		}
	}
	return last
}

// nextDue is when the job's next slot is due, or those that are owed no longer have to be written off.
func (p *Planner) nextDue(j *jobState) (time.Time, bool) {
	if j.when == nil || j.def == nil || p.paused(j) {
		return time.Time{}, false
	}
	if p.writeOff(j) != nil {
		since, _ := p.since(j)
		return since, true
	}
	next := p.position(j).next
	if next.IsZero() {
		return time.Time{}, false
	}
	return next.Add(j.when.Offset()), true
}

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
	before := later(p.leadSince, j.told().missedBefore)
	if s.missed = s.due.Before(before); s.missed {
		switch r := policy.Missed(j.when, j.def.Spec, s.after, before, now); {
		case r != nil && s.run != nil:
			return p.skip(j, s, now, r.Reason)
		case r != nil:
			return p.skipRange(j, s.position, r, now)
		}
	}
	following, more := j.when.Next(s.next)
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
	at, after, next := position{}, j.lastSlot(), time.Time{}
	old := false // the cursor is of another schedule
	if c := j.cursor; c != nil {
		at.rev = c.Rev
		if !c.After.IsZero() { // or else nobody can read it
			after, next, old = c.After, c.Next, c.Generation < j.def.SinceGeneration
		}
	}
	since, why := p.since(j)
	if old && after.After(since) { // a slot of the old schedule was armed ahead
		if r := policy.Between(j.when, since, after.Add(-1), reasonOvertaken); r != nil {
			return p.skipUpTo(j, at, r, since, after)
		}
	}
	switch changed := j.scheduled(); {
	case !changed.After(after):
		if old {
			next, _ = j.when.Next(after)
		}
	case !next.IsZero() && !next.After(changed):
		r := &policy.Range{From: next, To: next, Count: 1, Partial: true, Reason: reasonChanged}
		return p.skipUpTo(j, at, r, changed, changed)
	default: // none of the present schedule's slots has been decided yet
		after = changed
		next, _ = j.when.Next(after)
	}
	if why != job.SinceResumed || !since.After(after) || next.IsZero() || next.After(since) {
		return nil
	}
	if r := policy.Between(j.when, after, since, "paused"); r != nil {
		return p.skipUpTo(j, at, r, since, since)
	}
	return nil
}

// scheduled is when the job's present schedule came into force; zero if the record does not tell.
func (j *jobState) scheduled() time.Time {
	if j.def.Scheduled.IsZero() && j.def.SinceReason != job.SinceResumed {
		return j.def.Since
	}
	return j.def.Scheduled
}

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

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
