package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// Apply applies one change of the store at now. The changes of one record must come in the order of their revisions. A
// change of a cursor or a run is ignored if a newer one is known.
func (p *Planner) Apply(c job.Change, now time.Time) {
	p.seen = max(p.seen, c.Rev)
	switch c.Kind {
	case job.RecordJob:
		p.applyJob(c, now)
	case job.RecordCursor:
		p.applyCursor(c, now)
	case job.RecordRun:
		p.steps.setBad(c.Name, c.Bad != nil)
		name, id, err := job.ParseRunName(c.Name)
		if err != nil {
			return
		}
		if d, ok := c.Value.(*job.Delayed); ok && p.applyFar(p.job(name), d, c.Rev, now) {
			return
		}
		p.applyRun(name, id, job.ValueOf[job.Run](c), c.Rev, now)
	case job.RecordWorker:
		p.applyWorker(c, now)
	case job.RecordLimit:
		p.applyLimit(c)
	case job.RecordGate:
		p.applyGate(c, now)
	case job.RecordBackfill:
		p.applyBackfill(c)
	}
}

func (p *Planner) applyGate(c job.Change, now time.Time) {
	p.gateRev = c.Rev
	if c.Deleted() {
		p.gateRev = 0
	}
	gate := job.ValueOf[job.Gate](c)
	switch {
	case gate != nil: // the record, or the last readable one
		p.gate = resumed(p.gate, *gate, now)
	case c.Bad != nil: // keep the last readable gate
		return
	case p.gate.Paused != nil: // a deletion by hand also resumes the jobs
		p.gate, _ = p.gate.SetPause(nil, now)
	}
	for _, j := range p.jobs {
		p.markDirty(j)
	}
}

// resumed returns gate, which replaces was. If somebody has ended a pause by hand, its record lacks that pause. Then resumed adds
// it, so that the slots that have passed meanwhile do not run.
func resumed(was, gate job.Gate, now time.Time) job.Gate {
	if was.Paused == nil || gate.Paused != nil || gate.Since.After(was.Paused.At) {
		return gate
	}
	gate.Paused = was.Paused
	gate, _ = gate.SetPause(nil, now)
	return gate
}

// resumedByHand reports whether a record without the pause of old has replaced old: no client resumed the job.
func resumedByHand(old, def *job.Job) bool {
	return old != nil && old.Paused != nil && def != nil && def.Paused == nil && !def.Since.After(old.Paused.At)
}

func (p *Planner) applyJob(c job.Change, now time.Time) {
	if c.Name == job.AdHoc { // ad hoc runs carry their spec, so such a record was written by hand
		return
	}
	j := p.job(c.Name)
	p.markDirty(j)
	j.clearBackoff()
	old, def := j.def, job.ValueOf[job.Job](c)
	if j.unreadable && c.Bad == nil || resumedByHand(old, def) {
		j.ensureTrouble().downBefore = now // until now, its slots could not be dispatched
	}
	j.unreadable, j.when = c.Bad != nil, nil
	if !j.unreadable {
		j.def = def
	}
	p.applyThrottle(j, old, now)
	p.setParents(j, old, j.def)
	if def == nil {
		p.invalid.remove(c.Name)
		if c.Deleted() && j.cursor != nil && j.cursor.Rev == 0 {
			j.cursor = nil
		}
		p.forgetJob(j)
		return
	}
	// The schedule is parsed even if it seems unchanged: the job may have been recreated, or edited by hand.
	when, err := policy.StoredWhen(c.Name, def.Spec)
	j.when = when
	j.cursor = j.withNext(j.cursor)
	if err != nil {
		p.invalid.set(c.Name, err)
	} else {
		p.invalid.remove(c.Name)
	}
}

// InvalidSchedules returns the jobs whose schedule cannot be parsed, and why. They have no slots. Later changes do not
// affect the map that it returns.
func (p *Planner) InvalidSchedules() map[string]error { return p.invalid.current() }

// applyRun applies a run's record; nil means that the record is gone or unreadable.
func (p *Planner) applyRun(name, id string, r *job.Run, rev int64, now time.Time) {
	j := p.job(name)
	was, ended := j.find(id)
	known := ended
	if was != nil {
		known = was.Run
	}
	if known != nil && rev <= known.Rev {
		return
	}
	p.markDirty(j)
	j.clearBackoff()
	p.countAssigned(j, was, -1, now)
	p.countHolders(known, r, now)
	p.setNeeds(j, known, r)
	p.observeAttempts(j, known, r, now)
	j.noteWait(r)
	j.live.remove(was)
	j.ended.remove(ended)
	switch {
	case r == nil:
		if j.trouble().blockedBy == id {
			p.unblock(j, &liveRun{Run: &job.Run{ID: id}}, now)
		}
		p.forgetJob(j)
	case r.State.Terminal():
		if j.ended == nil {
			j.ended = new(history)
		}
		j.ended.add(r)
		if j.trouble().blockedBy == id {
			p.unblock(j, newLiveRun(was, r, now), now)
		}
	default:
		l := newLiveRun(was, r, now)
		j.ownLive().put(l, now)
		if known == nil && r.Kind == job.KindScheduled {
			p.wakeLate(j)
		}
		p.countAssigned(j, l, 1, now)
	}
	p.wakeSteps(j, id, r)
}

// unblock records, after the end of r, whether the slot that waited for r counts as missed or as overlapped. A slot must have
// waited for r.
func (p *Planner) unblock(j *jobState, r *liveRun, now time.Time) {
	t := j.ensureTrouble()
	t.blockedBy = ""
	// Slots before the start of r also waited for it, but r was not running then. r.first is later than now if a worker claimed
	// r ahead of its time and r ended before that time.
	began := job.Earlier(r.first, now)
	switch {
	case r.State == job.Lost || j.damaged(r):
		t.downBefore = now
		return
	case !r.Late:
		t.downBefore = job.Later(t.downBefore, began)
		t.overlapped = j.activeTime(r, now)
		return
	case began.Sub(job.Later(r.Created, r.Due)) > promptly:
		t.downBefore = job.Later(t.downBefore, began)
	}
	t.missedBefore = now
	t.overlapped = j.activeTime(r, now)
	t.overlapped.late = true
}

// promptly is how soon a run begins that waits neither for room nor for anything else.
const promptly = time.Second

// activeTime returns the interval in which r, which has ended, was active and would have been active even without its delay.
func (j *jobState) activeTime(r *liveRun, now time.Time) overlapped {
	delay := j.delay(r)
	return overlapped{run: r.ID, from: r.first, upTo: r.endedAt(now).Add(-delay), planned: r.first.Add(-delay)}
}

// disturbed reports whether r was late or damaged. Then a slot that waited for r counts as missed, because the cluster delayed it
// and not the job. If r was only late, slots in its activeTime are an exception.
func (j *jobState) disturbed(r *liveRun) bool { return r.Late || j.damaged(r) }

// damaged reports whether r never started or lost a worker. A run on every worker is damaged if one of its copies is missing, was
// skipped or lost a worker.
func (j *jobState) damaged(r *liveRun) bool {
	for _, worker := range r.Copies {
		if c := j.run(r.CopyID(worker)); c == nil || c.State == job.Skipped || c.LostAttempts() > 0 {
			return true
		}
	}
	return r.first.IsZero() || r.LostAttempts() > 0
}

// delay returns how long after its due time r started. Without this delay, r would have ended earlier by the same time. A slot
// after that earlier end did not wait because of the job.
func (j *jobState) delay(r *liveRun) time.Duration {
	due := r.Due
	switch {
	case r.Asked(): // a person delayed it, and not the cluster
		due = job.Later(r.Approval.At, r.Approval.Asked)
	case r.Kind == job.KindScheduled && j.when != nil:
		due = r.Slot.Add(j.when.Offset())
	case r.Attempt > 1: // Due is that of the latest attempt
		due = r.first
	}
	return max(0, r.first.Sub(due))
}
