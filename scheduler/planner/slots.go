package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// slot is the next slot of a job.
type slot struct {
	position
	id     string   // the id of its run
	run    *job.Run // its run, if that was armed ahead and taken back; nil: it has none yet
	due    time.Time
	missed bool // the slot came due while no leader could dispatch it, or while a late run blocked it
	late   bool // it is missed, or the slot after it is due as well
}

// decideSlot decides the job's next slot if it is due, or arms its run ahead if it is due soon.
func (p *Planner) decideSlot(j *jobState, now time.Time) *job.Decision {
	if j.def == nil {
		return nil
	}
	if r := j.live.undecided(); r != nil { // the slot of r comes before all slots after the cursor
		return p.decideAgain(j, r, now)
	}
	if j.isStep() {
		return p.decideStep(j, now)
	}
	if j.when == nil || p.paused(j) {
		return nil
	}
	if d := p.putBack(j); d != nil {
		return d
	}
	if d := p.skipObsolete(j); d != nil {
		return d
	}
	s := slot{position: p.position(j)}
	if s.next.IsZero() {
		return nil
	}
	s.due = s.next.Add(j.when.Offset())
	soon := !s.due.After(now) || p.isSoon(j, s.due, now)
	if j.hasSlot(s.next) || soon && j.cursor.Passed(s.next) { // not earlier: an edit may bring slots before it
		return &job.Decision{JobRev: j.def.Rev, Cursor: p.cursor(j, s.position, s.next)}
	}
	if !soon {
		return nil
	}
	s.id = job.SlotID(s.next)
	if s.due.After(now) {
		return p.armSlot(j, s, now)
	}
	if s.due.Before(p.leadSince) { // the cursor may have been put back while this planner did not know it
		if last := p.lastSlot(j); last.After(s.after) {
			return &job.Decision{JobRev: j.def.Rev, Cursor: p.cursor(j, s.position, last)}
		}
	}
	return p.decideDue(j, s, now)
}

// hasSlot reports whether a slot has a record already. It is called in nearly every decision, so it makes no string.
func (j *jobState) hasSlot(slot time.Time) bool {
	taken := j.trouble().taken
	if taken == "" && j.live.none() {
		return false
	}
	var b [len(time.RFC3339Nano)]byte
	id := job.AppendSlotID(b[:0], slot)
	return taken == string(id) || j.live.has(id)
}

// decideDue decides a slot whose time has come.
func (p *Planner) decideDue(j *jobState, s slot, now time.Time) *job.Decision {
	t := j.trouble()
	overlaps := p.overlaps(j, s)
	if overlaps && j.def.Spec.Overlap == job.OverlapSkip {
		return p.skip(j, s, now, t.overlapped.reason(s.due))
	}
	before := job.Later(p.down(j), t.missedBefore)
	if s.missed = s.due.Before(before) && !overlaps && !j.hasReplaced(s, now); s.missed {
		switch r := policy.Missed(j.when, j.def.Spec, s.after, before, now, p.pauses(j, s.after)); {
		case r != nil && s.run != nil:
			return p.skip(j, s, now, r.Reason)
		case r != nil:
			return p.skipRange(j, s.position, r, now, r.To)
		}
	}
	following, _, more := p.nextUnpaused(j, s.next)
	s.late = s.missed || more && !following.Add(j.when.Offset()).After(now)
	switch overlap := j.def.Spec.Overlap; {
	case overlap == job.OverlapAllow:
		return p.decideAllowed(j, s, now)
	case overlap == job.OverlapReplace && s.late && !s.missed:
		return p.skip(j, s, now, reasonLaterSlot)
	}
	if active := j.activeAt(s, now); len(active) > 0 {
		return p.decideOverlap(j, s, active, now)
	}
	if o := t.overlapped; j.def.Spec.Overlap == job.OverlapSkip && o.covers(s.due) { // the policy may have changed since
		return p.skip(j, s, now, reasonWasActive(o.run))
	}
	return p.dispatch(j, s, now)
}

// skipObsolete records the slots that no longer count because the job got another schedule or was paused.
func (p *Planner) skipObsolete(j *jobState) *job.Decision {
	at, since := p.position(j), p.since(j)
	if c := j.cursor; isKnown(c) {
		begin := j.scheduledAfter()
		changed := job.Later(j.def.Scheduled, begin)
		if changed.IsZero() { // a record of an earlier build
			changed, begin = since, since
		}
		// A cursor that was removed by hand, or is unreadable, has no generation. No edit is known that it is older than.
		old := c.Generation > 0 && c.Generation < j.def.SinceGeneration
		if old && c.After.After(begin) { // a slot of the old schedule was armed ahead
			if r := policy.Between(j.when, begin, c.After.Add(-1), reasonOvertaken); r != nil {
				return p.skipRange(j, at, r, changed, c.After)
			}
		}
		begin = j.scheduledAfter()
		gone := old && !c.Next.After(j.def.Scheduled) && !isSlot(j, c.Next) // the new schedule lacks a slot that was not due
		if !c.Next.IsZero() && !c.Passed(c.Next) && (gone || begin.After(c.After) && !c.Next.After(begin)) {
			r := &policy.Range{From: c.Next, To: c.Next, Count: 1, Partial: true, Reason: reasonChanged}
			return p.skipRange(j, at, r, changed, job.Later(begin, c.After))
		}
	}
	if !since.After(at.after) { // nearly always
		return nil
	}
	if _, skippedTo, _ := p.nextUnpaused(j, at.after); !skippedTo.IsZero() {
		if r := policy.Between(j.when, at.after, skippedTo, reasonPaused); r != nil {
			return p.skipRange(j, at, r, skippedTo, skippedTo)
		}
	}
	return nil
}

// skipRange records the range r as skipped at skippedAt. It moves the cursor to the time after, which must not be before the end
// of the range, except if that has one slot. Then the cursor holds this slot, so that it does not run if it is edited back.
func (p *Planner) skipRange(j *jobState, at position, r *policy.Range, skippedAt, after time.Time) *job.Decision {
	c := p.cursor(j, at, after)
	if r.To.After(after) {
		c.Beyond = append(c.Beyond, r.To)
		slices.SortFunc(c.Beyond, time.Time.Compare)
		c.Beyond = c.Beyond[max(0, len(c.Beyond)-job.MaxBeyond):]
	}
	return &job.Decision{
		JobRev: j.def.Rev,
		Cursor: c,
		Event: &job.Event{
			// The same range always gets the same id.
			ID:   job.EventID(skippedAt, r.From.UTC().Format(job.EventStamp)),
			Kind: job.EventSkipped, Job: j.name, At: skippedAt, Reason: r.Reason,
			From: r.From, To: r.To, Count: r.Count, Partial: r.Partial,
		},
	}
}

// cursor returns the job's cursor, moved to after.
func (p *Planner) cursor(j *jobState, at position, after time.Time) *job.Cursor {
	next, _ := j.when.Next(after)
	c := &job.Cursor{Job: j.name, After: after, Next: next, Generation: j.def.Generation, Rev: at.rev}
	if j.cursor != nil {
		for _, slot := range j.cursor.Beyond {
			if slot.After(after) {
				c.Beyond = append(c.Beyond, slot)
			}
		}
	}
	return c
}

// dispatch creates the slot's run: armed if a worker has room and the run may start, otherwise pending. If the run needs an
// approval, it waits for that first.
func (p *Planner) dispatch(j *jobState, s slot, now time.Time) *job.Decision {
	r, spec := p.slotRun(j, s, now, ""), j.def.Spec
	if r.NeedsApproval(spec) {
		return p.createPending(j, s, r.Ask(spec.Approve, now))
	}
	if r.Reason = p.heldBack(j, &r, spec, now); r.Reason != "" {
		return p.createPending(j, s, r)
	}
	if spreads(spec, &r) {
		r, _ = p.spread(j, spec, r, now)
		return p.createPending(j, s, r)
	}
	w, accepted := p.choose(j, spec, &r, now)
	if w == nil {
		r.Reason = p.noWorkerReason(spec, &r, accepted)
	} else if armed := p.assignTo(j, w, r, now); armed != nil {
		return p.createRun(j, s, armed)
	}
	return p.createPending(j, s, r)
}

// skip creates the slot's run as skipped.
func (p *Planner) skip(j *jobState, s slot, now time.Time, reason string) *job.Decision {
	r := p.slotRun(j, s, now, reason)
	r.State, r.Finished, r.Late = job.Skipped, now, false
	return p.createRun(j, s, &r)
}

// slotRun returns the slot's run, pending with the given reason.
func (p *Planner) slotRun(j *jobState, s slot, now time.Time, reason string) job.Run {
	r := job.Run{Job: j.name, ID: s.id, Kind: job.KindScheduled, Slot: s.next, State: job.Pending, Created: now}
	if s.run != nil {
		r = *s.run
	}
	r.Due, r.Reason, r.Late, r.Ahead, r.Generation = s.due, reason, s.late, false, j.def.Generation
	r.Params, r.Defaulted = j.def.Spec.DefaultParams()
	return r
}

// createRun returns the decision that writes the slot's run and moves the cursor past the slot. If the run was armed ahead,
// the cursor has already moved.
func (p *Planner) createRun(j *jobState, s slot, r *job.Run) *job.Decision {
	d := &job.Decision{JobRev: j.def.Rev, Run: r}
	if s.run == nil {
		d.Cursor = p.cursor(j, s.position, s.next)
	}
	return d
}

// createPending is createRun for a run without a worker. It is a function of its own so that only such runs are copied.
func (p *Planner) createPending(j *jobState, s slot, r job.Run) *job.Decision {
	p.keepPlaces(j, &r)
	return p.createRun(j, s, &r)
}

// isSlot reports whether the job has a slot at the given time.
func isSlot(j *jobState, at time.Time) bool {
	if j.when == nil {
		return false
	}
	next, ok := j.when.Next(at.Add(-1))
	return ok && next.Equal(at)
}
