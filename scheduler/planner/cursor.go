package planner

import "github.com/rota-scheduler/rota/scheduler/job"

// applyCursor takes over how far the slots of a job are decided.
func (p *Planner) applyCursor(c job.Change) {
	j := p.job(c.Name)
	if j.cursor != nil && c.Rev <= j.cursor.Rev {
		return
	}
	p.touch(j)
	j.calm()
	switch {
	case c.Bad != nil: // what we knew is still true, and will replace what nobody can read
		j.cursor = cursorAt(j.cursor, c.Name, c.Rev)
	case c.Deleted() && j.def != nil && j.cursor != nil: // by hand: what we knew is still true
		j.cursor = cursorAt(j.cursor, c.Name, 0)
	case c.Deleted():
		j.cursor = nil
		p.forget(j)
	default:
		j.cursor = j.trued(j.onward(c.Cursor))
	}
}

// trued is a cursor with the next slot that its job's schedule has. Who wrote it may have known other rules of a time zone, or
// been of another version. Under another definition the slot is computed in any case: see position.
func (j *jobState) trued(c *job.Cursor) *job.Cursor {
	if j.def == nil || j.when == nil || !tells(c) || c.Generation != j.def.Generation {
		return c
	}
	next, _ := j.when.Next(c.After)
	if next.Equal(c.Next) { // as nearly always
		return c
	}
	right := *c
	right.Next = next
	return &right
}

// onward is a cursor's record, or what was known of it if that is further on: a cursor only moves forward, so a hand has put
// it back. The runs of the slots behind it may have been removed from history.
func (j *jobState) onward(c *job.Cursor) *job.Cursor {
	if j.cursor == nil || !c.After.Before(j.cursor.After) {
		return c
	}
	known := *j.cursor
	known.Rev = c.Rev
	return &known
}

// cursorAt is what was known of a cursor, whose record now stands at rev. Its next slot is computed anew, should the job
// have been made anew.
func cursorAt(known *job.Cursor, name string, rev int64) *job.Cursor {
	c := job.Cursor{Job: name}
	if known != nil {
		c = *known
	}
	c.Rev, c.Generation = rev, 0
	return &c
}
