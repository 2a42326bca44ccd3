package planner

import (
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Settle tells what became of a decision that Plan returned.
func (p *Planner) Settle(d job.Decision, a job.Applied, now time.Time) {
	p.reserve(d.Run, -1)
	j := p.job(d.Job)
	p.settleLimits(j, d.Run, a.Err != nil)
	j.busy = false
	p.touch(j)
	if a.Err != nil {
		p.refused(j, d, a, now)
		return
	}
	if j.trouble != nil {
		j.trouble.refusals = 0
		j.relieve()
	}
	if a.Rev > p.seen { // or else the store has told all of it, and maybe more
		p.written(j, d, a.Rev, now)
	}
	p.forget(j)
}

// written takes over a decision that was written at rev.
func (p *Planner) written(j *jobState, d job.Decision, rev int64, now time.Time) {
	if d.Run != nil {
		r := *d.Run
		r.Rev = rev
		p.applyRun(r.Job, r.ID, &r, rev, now)
	}
	if d.Cursor != nil {
		c := *d.Cursor
		c.Rev = rev
		j.cursor = &c
	}
	for _, r := range d.Drops {
		j.ended.remove(r.ID)
	}
}

// refused takes over how the records stand that refused a decision, unless the store has told of later changes. What it
// does not show, the store will tell; until then, deciding again at once would only be refused again.
func (p *Planner) refused(j *jobState, d job.Decision, a job.Applied, now time.Time) {
	if a.Run != nil && a.Run.Rev > p.seen {
		p.applyRun(a.Run.Job, a.Run.ID, a.Run, a.Run.Rev, now)
	}
	if a.Cursor != nil && a.Cursor.Rev > p.seen {
		j.cursor = j.onward(a.Cursor)
	}
	if errors.Is(a.Err, job.ErrConflict) {
		p.vanished(j, d, a, now)
	}
	// A slot that has a record already, whoever made it, gets no other: the cursor moves past it.
	if d.Run != nil && d.Cursor != nil && (a.Unreadable || a.Run != nil) {
		j.note().taken = d.Run.ID
		return
	}
	switch tooLarge := errors.Is(a.Err, job.ErrTooLarge); {
	case tooLarge && d.Run != nil && d.Run.State == job.Armed:
		j.note().oversized = d.Run.ID
	case !tooLarge && !errors.Is(a.Err, job.ErrConflict) && j.told().refusals > 0:
		j.note().missedBefore = now // the store takes nothing, so nobody could dispatch
	}
	p.rest(j, now)
}

// vanished takes over that records which d was to replace are not there any more. The store may never tell: it tells the
// difference between two lists, and they may have come and gone in between.
func (p *Planner) vanished(j *jobState, d job.Decision, a job.Applied, now time.Time) {
	if r := d.Run; r != nil && r.Rev != 0 && a.Run == nil && !a.Unreadable {
		p.applyRun(r.Job, r.ID, nil, r.Rev+1, now) // passed over if we have heard of a later one
	}
	if c := d.Cursor; c != nil && c.Rev != 0 && a.Cursor == nil && !a.BadCursor {
		p.applyCursor(job.Change{Kind: job.RecordCursor, Name: j.name, Rev: c.Rev + 1})
	}
}

// rest keeps j from being decided about again at once, longer each time until a decision is committed.
func (p *Planner) rest(j *jobState, now time.Time) {
	t := j.note()
	t.retryAt = now.Add(min(minRest<<min(t.refusals, 10), maxRest))
	t.refusals++
}

// How long a job rests after a refused decision, unless the store tells something new.
const (
	minRest = 50 * time.Millisecond
	maxRest = 5 * time.Second
)
