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
	return job.Earlier(own.At, all.At)
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
		after := job.Later(j.scheduled(), j.lastSlot())
		if j.scheduled().IsZero() { // a record of an earlier build
			after = job.Later(after, j.def.Since)
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
			last = job.Later(last, r.Slot)
		}
	}
	for r := range j.ended.all {
		if r.Kind == job.KindScheduled && !r.Ended().Before(r.Slot) {
			last = job.Later(last, r.Slot)
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
