package planner

import "github.com/rota-scheduler/rota/scheduler/job"

// applyCursor applies a change of the cursor's record. A cursor says up to which slot the job's slots are decided.
func (p *Planner) applyCursor(c job.Change) {
	j := p.job(c.Name)
	p.wakeJoins(j)
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
	default:
		j.cursor = j.withNext(j.furthest(job.ValueOf[job.Cursor](c)))
	}
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
