package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// position says where a job stands among its slots. All slots up to after are decided. next is the slot after it, zero if
// there is none. rev is the revision of the cursor's record.
type position struct {
	after, next time.Time
	rev         int64
}

// paused reports whether the job decides no slots and starts no runs.
func (p *Planner) paused(j *jobState) bool {
	return p.gate.Paused != nil || j.def != nil && j.def.Paused != nil
}

// pausedAt returns when the pause of a paused job started.
func (p *Planner) pausedAt(j *jobState) time.Time {
	own, all := j.def.Paused, p.gate.Paused
	switch {
	case own == nil:
		return all.At
	case all == nil:
		return own.At
	}
	return job.Earlier(own.At, all.At)
}

// since returns when the job's slots last started to count: at its creation, at a change of its schedule, or at the end of a
// pause.
func (p *Planner) since(j *jobState) time.Time { return job.Later(p.gate.Since, j.def.Since) }

// pauses returns the stretches after the given time in which slots do not count, because the job or all jobs were paused.
func (p *Planner) pauses(j *jobState, after time.Time) []policy.Interval {
	if !p.since(j).After(after) || j.when == nil {
		return nil
	}
	return policy.Paused(j.when.Offset(), after, j.def.PauseHistory(), p.gate.PauseHistory())
}

// nextUnpaused returns the first slot after the given time that lies in no pause. skippedTo is the end of the last pause that
// skips a slot before next, zero if none does.
func (p *Planner) nextUnpaused(j *jobState, after time.Time) (next, skippedTo time.Time, more bool) {
	return policy.NextUnpaused(j.when, after, p.pauses(j, after))
}

// position derives where the job stands from its cursor and from later changes of its definition.
func (p *Planner) position(j *jobState) position {
	c, scheduled := j.cursor, j.scheduledAfter()
	if !isKnown(c) {
		after := job.Later(scheduled, p.lastSlot(j))
		if scheduled.IsZero() { // a record of an earlier build
			after = job.Later(after, j.def.Since)
		}
		at := j.from(after, 0)
		if c != nil {
			at.rev = c.Rev
		}
		return at
	}
	if scheduled.After(c.After) {
		return j.from(scheduled, c.Rev)
	}
	if c.Generation != j.def.Generation {
		return j.from(c.After, c.Rev)
	}
	return position{after: c.After, next: c.Next, rev: c.Rev}
}

func (j *jobState) from(after time.Time, rev int64) position {
	next, _ := j.when.Next(after)
	return position{after: after, next: next, rev: rev}
}

// scheduledAfter returns the slot after which the job's present schedule applies; zero if the record does not say.
func (j *jobState) scheduledAfter() time.Time { return policy.SlotsAfter(j.def, j.when) }

// lastSlot returns the latest slot that has a run, for a cursor that is gone or was put back. It ignores runs that were armed
// ahead or that ended before their slot, because earlier slots may still be undecided. It also ignores slots in the future: their
// runs are from a time when the clocks were ahead. The cursor passes a slot with a run in any case.
func (p *Planner) lastSlot(j *jobState) (last time.Time) {
	add := func(r *job.Run) {
		if !r.Slot.After(p.now) {
			last = job.Later(last, r.Slot)
		}
	}
	for _, r := range j.live.order {
		if r.Kind == job.KindScheduled && !r.Ahead {
			add(r.Run)
		}
	}
	for r := range j.ended.all {
		if r.Kind == job.KindScheduled && !r.Ended().Before(r.Slot) {
			add(r)
		}
	}
	return last
}

// nextDue returns when the job's next slot is due. If slots must be recorded as skipped first, it returns a time that has
// passed. false means that there is no next slot, or the job is paused.
func (p *Planner) nextDue(j *jobState) (time.Time, bool) {
	if j.when == nil || j.def == nil || p.paused(j) {
		return time.Time{}, false
	}
	if p.skipObsolete(j) != nil {
		return p.since(j), true
	}
	next := p.position(j).next
	if next.IsZero() {
		return time.Time{}, false
	}
	return next.Add(j.when.Offset()), true
}
