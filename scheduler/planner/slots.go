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

// pausedAt is since when the job, which is paused, is.
func (p *Planner) pausedAt(j *jobState) time.Time {
	own, all := j.def.Paused, p.gate.Paused
	switch {
	case own == nil:
		return all.At
	case all == nil:
		return own.At
	}
	return earlier(own.At, all.At)
}

// since is the instant from which the job's slots are owed, but for those before a pause, and why.
func (p *Planner) since(j *jobState) (time.Time, string) {
	if p.gate.Since.After(j.def.Since) {
		return p.gate.Since, job.SinceResumed
	}
	return j.def.Since, j.def.SinceReason
}

// pauses are where the slots after after lie that are not owed, since the job or all jobs were paused.
func (p *Planner) pauses(j *jobState, after time.Time) []policy.Stretch {
	if since, _ := p.since(j); !since.After(after) || j.when == nil {
		return nil
	}
	return policy.Paused(j.when.Offset(), after, j.def.Halted(), p.gate.Halted())
}

// owedAfter is the first slot after after that is owed, as far as pauses go, and up to where those before it are not.
func (p *Planner) owedAfter(j *jobState, after time.Time) (next, passed time.Time, more bool) {
	next, more = j.when.Next(after)
	for _, s := range p.pauses(j, after) {
		if more && s.Holds(next) {
			passed = s.UpTo
			next, more = j.when.Next(passed)
		}
	}
	return next, passed, more
}

// position derives where the job stands from its cursor and from what happened to its definition since.
func (p *Planner) position(j *jobState) position {
	c := j.cursor
	if !tells(c) {
		after := later(j.scheduled(), j.lastSlot())
		if j.scheduled().IsZero() { // an older version has made the record
			after = later(after, j.def.Since)
		}
		at := j.from(after, 0)
		if c != nil {
			at.rev = c.Rev
		}
		return at
	}
	if changed := j.scheduled(); changed.After(c.After) {
		return j.from(changed, c.Rev)
	}
	if c.Generation != j.def.Generation {
		return j.from(c.After, c.Rev)
	}
	return position{after: c.After, next: c.Next, rev: c.Rev}
}

// tells says whether a cursor is there, and somebody can read it or has known it.
func tells(c *job.Cursor) bool { return c != nil && !c.After.IsZero() }

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
		changed := j.scheduled()
		if changed.IsZero() { // an older version has made the record
			changed = since
		}
		if c.Generation < j.def.SinceGeneration && c.After.After(changed) { // a slot of the old schedule was armed ahead
			if r := policy.Between(j.when, changed, c.After.Add(-1), reasonOvertaken); r != nil {
				return p.skipUpTo(j, at, r, changed, c.After)
			}
		}
		if changed = j.scheduled(); changed.After(c.After) && !c.Next.IsZero() && !c.Next.After(changed) {
			r := &policy.Range{From: c.Next, To: c.Next, Count: 1, Partial: true, Reason: reasonChanged}
			return p.skipUpTo(j, at, r, changed, changed)
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
