package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// applyCursor applies a change of the cursor's record. A cursor says up to which slot the job's slots are decided.
func (p *Planner) applyCursor(c job.Change, now time.Time) {
	j := p.job(c.Name)
	p.wakeJoins(j)
	next := job.ValueOf[job.Cursor](c)
	ofNewTerm := next != nil && next.Term > p.term
	if ofNewTerm {
		p.term = next.Term
	}
	if j.cursor != nil && c.Rev <= j.cursor.Rev {
		return
	}
	p.markDirty(j)
	j.clearBackoff()
	switch {
	case c.Bad != nil: // the known cursor is still valid, and will replace the unreadable record
		j.cursor = cursorAt(j.cursor, c.Name, c.Rev)
	case c.Deleted() && j.def != nil && j.cursor != nil: // deleted by hand: the known cursor is still valid
		j.cursor = cursorAt(j.cursor, c.Name, 0)
	case c.Deleted():
		j.cursor = nil
		p.forgetJob(j)
	case p.leading && !ofNewTerm && j.leaps(next, now):
		known := *j.cursor
		known.Rev = next.Rev
		j.cursor, j.ensureTrouble().putAhead = &known, true
	default:
		j.cursor = j.withNext(j.furthest(next))
	}
}

// cursorAhead is how far in the future a cursor may be. Slots are decided up to a minute early.
const cursorAhead = 5 * time.Minute

// leaps reports whether c is in the future and the known cursor is not. If this planner leads, and c is not of a later term,
// somebody wrote c by hand: a leader moves a cursor only to slots that it decides. No slot up to c has run yet.
func (j *jobState) leaps(c *job.Cursor, now time.Time) bool {
	return isKnown(j.cursor) && c.After.After(now.Add(cursorAhead)) && !j.cursor.After.After(now.Add(cursorAhead))
}

// putBack writes the known cursor over one that somebody put into the future by hand.
func (p *Planner) putBack(j *jobState) *job.Decision {
	if !j.trouble().putAhead || j.isStep() {
		return nil
	}
	j.ensureTrouble().putAhead = false
	at := p.position(j)
	return &job.Decision{JobRev: j.def.Rev, Cursor: p.cursor(j, at, at.after)}
}

// withNext returns c with the next slot of this planner's schedule. The writer of c may have had other time zone rules or
// another version of rota. Under another definition, position computes the next slot in any case.
func (j *jobState) withNext(c *job.Cursor) *job.Cursor {
	if j.def == nil || j.when == nil || !isKnown(c) || c.Generation != j.def.Generation {
		return c
	}
	next, _ := j.when.Next(c.After)
	if next.Equal(c.Next) { // nearly always
		return c
	}
	right := *c
	right.Next = next
	return &right
}

// furthest returns the later of c and the known cursor. Leaders only move a cursor forward, so an earlier c was written by
// hand. Runs of the slots after it may have been removed from history.
func (j *jobState) furthest(c *job.Cursor) *job.Cursor {
	if j.cursor == nil || !c.After.Before(j.cursor.After) {
		return c
	}
	known := *j.cursor
	known.Rev = c.Rev
	return &known
}

// cursorAt returns the known cursor with the revision rev. It has generation zero, so that its next slot is computed again: the
// job may have been recreated.
func cursorAt(known *job.Cursor, name string, rev int64) *job.Cursor {
	c := job.Cursor{Job: name}
	if known != nil {
		c = *known
	}
	c.Rev, c.Generation = rev, 0
	return &c
}

// isKnown reports whether c says up to which slot the slots are decided. It is false if the cursor is missing or was never
// readable.
func isKnown(c *job.Cursor) bool { return c != nil && !c.After.IsZero() }
