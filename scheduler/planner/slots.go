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

// lastSlot is the latest slot that has a run, should the cursor that knew it be gone.
func (j *jobState) lastSlot() (last time.Time) {
	for _, r := range j.live.order {
		if r.Kind == job.KindScheduled {
			last = later(last, r.Slot)
		}
	}
	for _, r := range j.ended {
		if r.Kind == job.KindScheduled {
			last = later(last, r.Slot)
		}
	}
	return last
}

// nextDue is when the job's next slot has to be decided, or those that are owed no longer have to be written off.
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
	due    time.Time
	missed bool // its time passed while nobody could dispatch, or behind a run that was late
	late   bool // missed, or so old that the slot after it is due as well
}

// decideSlot decides the job's next slot, if its time has come.
func (p *Planner) decideSlot(j *jobState, now time.Time) *job.Decision {
	if j.when == nil || j.def == nil || p.paused(j) {
		return nil
	}
	if d := p.writeOff(j); d != nil {
		return d
	}
	s := slot{position: p.position(j)}
	if s.next.IsZero() {
		return nil
	}
	s.due = s.next.Add(j.when.Offset())
	if s.due.After(now) {
		p.wakeAt(j, s.due)
		return nil
	}
	if j.taken == job.SlotID(s.next) {
		return p.pass(j, s.position)
	}
	before := later(p.leadSince, j.missedBefore)
	if s.missed = s.due.Before(before); s.missed {
		if r := policy.Missed(j.when, &j.def.Spec, s.after, before, now); r != nil {
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
	if active := j.activeAt(s.due, now); len(active) > 0 {
		return p.decideOverlap(j, s, active, now)
	}
	if j.overlapped.covers(s.due) {
		return p.skip(j, s, now, "overlap: run "+j.overlapped.run+" was still active")
	}
	return p.fire(j, s, now)
}

// writeOff records the slots that are owed no longer, since the job was given another schedule or paused.
func (p *Planner) writeOff(j *jobState) *job.Decision {
	after, next, rev := j.lastSlot(), time.Time{}, int64(0)
	if c := j.cursor; c != nil {
		rev = c.Rev
		if !c.After.IsZero() { // or else nobody can read it
			after, next = c.After, c.Next
		}
	}
	if changed := j.scheduled(); changed.After(after) { // none of the present schedule's slots has been decided yet
		if !next.IsZero() && !next.After(changed) {
			return p.passOver(j, changed, rev, &policy.Range{
				From: next, To: next, Count: 1, Partial: true, Reason: "the schedule was changed before its time could be used",
			})
		}
		after = changed
		next, _ = j.when.Next(after)
	}
	since, why := p.since(j)
	if why != job.SinceResumed || !since.After(after) || next.IsZero() || next.After(since) {
		return nil
	}
	if r := policy.Between(j.when, after, since, "paused"); r != nil {
		return p.passOver(j, since, rev, r)
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

// passOver moves the cursor to an instant, past slots that are owed no longer.
func (p *Planner) passOver(j *jobState, to time.Time, rev int64, r *policy.Range) *job.Decision {
	d := p.skipRange(j, j.from(to, rev), r, to)
	d.Cursor.After = to
	d.Cursor.Next, _ = j.when.Next(to)
	return d
}

// skipRange moves the cursor past a range of slots and says why they do not run.
func (p *Planner) skipRange(j *jobState, at position, r *policy.Range, now time.Time) *job.Decision {
	return &job.Decision{
		JobRev: j.def.Rev,
		Cursor: p.cursor(j, at, r.To),
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
	w, anybody := p.choose(&j.def.Spec, &r)
	if w == nil {
		r.Reason = waitReason(anybody)
		return p.enter(j, s, r)
	}
	if armed, err := r.Assign(w); err == nil {
		r = armed
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
	return job.Run{
		Job: j.name, ID: job.SlotID(s.next), Kind: job.KindScheduled, Slot: s.next, Due: s.due,
		State: job.Pending, Reason: reason, Late: s.late, Created: now, Generation: j.def.Generation,
	}
}

// enter creates the slot's run and moves the cursor past the slot.
func (p *Planner) enter(j *jobState, s slot, r job.Run) *job.Decision {
	return &job.Decision{JobRev: j.def.Rev, Run: &r, Cursor: p.cursor(j, s.position, s.next)}
}

// eventID is the same for the same range.
func eventID(at, from time.Time) string { return job.EventID(at, from.UTC().Format(job.EventStamp)) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
