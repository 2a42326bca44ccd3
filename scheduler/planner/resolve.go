package planner

import (
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Resolve takes the store's answer to a decision that Plan returned. If the decision was written, the planner keeps d.Run and
// d.Cursor.
func (p *Planner) Resolve(d job.Decision, a job.Applied, now time.Time) {
	j := p.job(d.Job)
	p.reserve(j, d.Run, -1)
	p.releaseLimits(j, d.Run, a.Err != nil)
	j.busy = false
	p.markDirty(j)
	if e := d.Event; e != nil && e.Kind == job.EventLate && (a.Err == nil || errors.Is(a.Err, job.ErrConflict)) {
		p.settleLate(d)
		p.forgetJob(j)
		return
	}
	if a.Err != nil {
		p.applyRefusal(j, d, a, now)
		p.forgetJob(j)
		return
	}
	if j.maybeTrouble != nil {
		j.maybeTrouble.refusals = 0
		j.dropEmptyTrouble()
	}
	if a.Rev > p.seen { // otherwise the feed has brought the same records, or newer ones
		p.applyWritten(j, d, a.Rev, now)
	}
	p.forgetJob(j)
}

// applyWritten applies a decision that was written at rev.
func (p *Planner) applyWritten(j *jobState, d job.Decision, rev int64, now time.Time) {
	if d.Run != nil {
		r := d.Run
		r.Rev = rev
		p.applyRun(r.Job, r.ID, r, rev, now)
	}
	for _, step := range d.Behind {
		step.Rev = rev
		p.applyRun(step.Job, step.ID, &step, rev, now)
	}
	if d.Cursor != nil {
		d.Cursor.Rev = rev
		j.cursor = d.Cursor
		p.wakeJoins(j)
	}
	if d.Backfill != nil {
		b := *d.Backfill
		b.Rev = rev
		p.applyBackfill(job.Change{Kind: job.RecordBackfill, Name: j.name, Rev: rev, Value: &b})
	}
	for _, r := range d.Deletions {
		j.ended.remove(j.ended.get(r.ID))
	}
}

// applyRefusal applies the records that made the store refuse a decision, unless the feed has brought later ones. Then the job
// backs off, because the store would refuse the same decision again until the feed has brought all changes.
func (p *Planner) applyRefusal(j *jobState, d job.Decision, a job.Applied, now time.Time) {
	if a.Run != nil && a.Run.Rev > p.seen {
		p.applyRun(a.Run.Job, a.Run.ID, a.Run, a.Run.Rev, now)
	}
	if a.Cursor != nil && a.Cursor.Rev > p.seen && !j.leaps(a.Cursor, now) { // the feed brings a cursor that leaps
		j.cursor = j.furthest(a.Cursor)
		j.ensureTrouble().unseen = a.Cursor.Rev
	}
	conflict, tooLarge := errors.Is(a.Err, job.ErrConflict), errors.Is(a.Err, job.ErrTooLarge)
	if conflict {
		p.applyDeletions(j, d, a, now)
		p.applyGuarded(a, now)
	}
	// A slot that already has a record gets no other: the cursor, or the backfill, moves past it.
	if d.Run != nil && (d.Cursor != nil || d.Backfill != nil) && (a.Unreadable || a.Run != nil) {
		j.ensureTrouble().taken = d.Run.ID
		return
	}
	switch {
	case tooLarge && d.Run != nil && d.Run.State == job.Armed:
		j.ensureTrouble().oversized = d.Run.ID
	case !tooLarge && !conflict && j.trouble().refusals > 0:
		j.ensureTrouble().downBefore = now // the store accepts no writes, so no leader could dispatch
	}
	p.backOff(j, now)
}

// applyDeletions removes the records that d should have replaced and that do not exist any more. The feed may never report their
// deletion: it reports the difference of two lists, and a record may be created and deleted between them.
func (p *Planner) applyDeletions(j *jobState, d job.Decision, a job.Applied, now time.Time) {
	if r := d.Run; r != nil && r.Rev != 0 && a.Run == nil && !a.Unreadable {
		p.applyRun(r.Job, r.ID, nil, r.Rev+1, now) // ignored if a later record is known
	}
	if c := d.Cursor; c != nil && c.Rev != 0 && a.Cursor == nil && !a.BadCursor {
		p.applyCursor(job.Change{Kind: job.RecordCursor, Name: j.name, Rev: c.Rev + 1}, now)
	}
}

// applyGuarded applies the records of the runs on which a refused decision depends, unless the feed has brought later ones. As
// above, the feed may never report a deletion, and the same decision would be refused for ever.
func (p *Planner) applyGuarded(a job.Applied, now time.Time) {
	for _, c := range a.Guarded {
		name, id, err := job.ParseRunName(c.Name)
		if err != nil || c.Bad != nil || !c.Deleted() && c.Rev <= p.seen {
			continue
		}
		if j := p.jobs[name]; j != nil && (j.run(id) != nil || !c.Deleted()) {
			p.applyRun(name, id, job.ValueOf[job.Run](c), c.Rev, now)
		}
	}
}

// How long a job backs off after a refused decision, unless the feed brings a change of it.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// backOff delays the next decision about j, longer each time until one is committed.
func (p *Planner) backOff(j *jobState, now time.Time) {
	t := j.ensureTrouble()
	t.retryAt = now.Add(min(minBackoff<<min(t.refusals, 10), maxBackoff))
	t.refusals++
}
