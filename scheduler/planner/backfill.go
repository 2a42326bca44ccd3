package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The bounds of the work on a backfill.
const (
	maxPassed    = 1000                   // how many slots that have a record already one decision skips
	backfillPoll = 500 * time.Millisecond // how soon a backfill looks for room again
	backfillTold = 10 * time.Second       // how long a backfill waits before its record says for what
)

// applyBackfill applies a change of a backfill's record.
func (p *Planner) applyBackfill(c job.Change) {
	if known := p.backfills[c.Name]; known != nil && c.Rev <= known.Rev {
		return
	}
	b := job.ValueOf[job.Backfill](c)
	if b != nil {
		p.backfills[c.Name] = b
	} else {
		delete(p.backfills, c.Name)
	}
	if b == nil || b.State != job.BackfillRunning {
		delete(p.held, c.Name)
	}
	if j := p.jobs[c.Name]; j != nil {
		p.markDirty(j)
	}
}

// backfill creates the run of the next slot that a backfill of the job orders, and the runs of the steps behind the job, which wait
// for their parents. The run is assigned at once. So a backfill takes only room that no due run needs, and its runs never wait in
// front of others.
func (p *Planner) backfill(j *jobState, now time.Time) *job.Decision {
	b := p.backfills[j.name]
	if b == nil || b.State != job.BackfillRunning || j.def == nil {
		return nil
	}
	if p.paused(j) {
		return p.nameWait(j, b, reasonPaused)
	}
	switch {
	case !j.def.Created.Equal(b.JobCreated):
		return p.moveBackfill(j, b.Stop(job.BackfillOfOldJob, now))
	case j.when == nil || j.def.SinceGeneration != b.SinceGeneration:
		return p.moveBackfill(j, b.Stop(job.BackfillRescheduled, now))
	}
	if j.def.Spec.OnEveryWorker() {
		return p.moveBackfill(j, b.Stop(job.BackfillEveryWorker, now))
	}
	steps, same := p.backfilledSteps(j, b)
	if !same {
		return p.moveBackfill(j, b.Stop(job.BackfillOfOldSteps, now))
	}
	next, active := *b, activeSlots(append(steps, j))
	slot, found := p.nextBackfilled(j, &next)
	switch {
	case next.Passed-b.Passed >= maxPassed:
		return p.moveBackfill(j, next)
	case !found && active == 0:
		next.State, next.Reason, next.Finished = job.BackfillDone, "", now
		return p.moveBackfill(j, next)
	case !found || active >= b.Concurrency:
		return p.nameWait(j, b, "") // the end of a run leads here again
	}
	r := job.Run{
		Job: j.name, ID: job.SlotID(slot), Kind: job.KindBackfill, Slot: slot, Due: now, State: job.Pending,
		By: b.By, Created: now, Generation: j.def.Generation,
	}
	r.Params, r.Defaulted = j.def.Spec.DefaultParams()
	if r.NeedsApproval(j.def.Spec) { // it needs no room yet
		d := p.startBackfilled(j, next, slot)
		d.Behind = p.runsBehind(steps, &r)
		d.Run = new(r.Ask(j.def.Spec.Approve, now))
		return d
	}
	w, why := p.spareWorker(j, &r, now)
	if why != "" {
		return p.holdBackfill(j, b, why, now)
	}
	armed := p.assignTo(j, w, r, now)
	if armed == nil {
		return nil
	}
	d := p.startBackfilled(j, next, slot)
	d.Run, d.Behind = armed, p.runsBehind(steps, &r)
	return d
}

// spareWorker returns the worker that executes the backfilled run r now, or why none does.
func (p *Planner) spareWorker(j *jobState, r *job.Run, now time.Time) (w *job.Worker, why string) {
	switch {
	case j.liveWaits(now):
		return nil, reasonDueRun
	case p.unplaced.waiting > 0:
		return nil, reasonDueRuns
	}
	if why := p.throttleReason(j, r, j.def.Spec, now, false); why != "" {
		return nil, why
	}
	w, accepted := p.choose(j, j.def.Spec, r, now)
	switch {
	case w == nil:
		return nil, p.noWorkerReason(j.def.Spec, r, accepted)
	case !p.spares(w):
		return nil, reasonNoSpare
	}
	return w, ""
}

// holdBackfill lets a backfill wait, and looks again soon. The record says why if it waits for long: short waits often change, and
// each change would be a write.
func (p *Planner) holdBackfill(j *jobState, b *job.Backfill, why string, now time.Time) *job.Decision {
	p.wakeAt(j, now.Add(backfillPoll))
	since, known := p.held[j.name]
	if !known {
		p.held[j.name] = now
	}
	if !known || now.Sub(since) < backfillTold {
		return nil
	}
	p.held[j.name] = now
	return p.nameWait(j, b, why)
}

// nameWait returns the decision that writes why a backfill waits, "" for its own runs; nil if its record says so.
func (p *Planner) nameWait(j *jobState, b *job.Backfill, why string) *job.Decision {
	if b.Reason == why {
		return nil
	}
	next := *b
	next.Reason = why
	return p.moveBackfill(j, next)
}

// startBackfilled returns the decision that moves a backfill past a slot, which gets its run by the same decision.
func (p *Planner) startBackfilled(j *jobState, next job.Backfill, slot time.Time) *job.Decision {
	delete(p.held, j.name)
	next.Position, next.Started, next.Reason = slot, next.Started+1, ""
	return p.moveBackfill(j, next)
}

// moveBackfill returns the decision that writes a backfill. It depends on the definition, because that has the schedule.
func (p *Planner) moveBackfill(j *jobState, next job.Backfill) *job.Decision {
	return &job.Decision{JobRev: j.def.Rev, Backfill: &next}
}

// nextBackfilled returns the next slot without a record. It moves b past the slots before it, which have one, but past at most
// maxPassed. Slots that the cursor has not passed belong to the schedule, and end the backfill.
func (p *Planner) nextBackfilled(j *jobState, b *job.Backfill) (time.Time, bool) {
	decided := p.position(j).after
	for range maxPassed {
		slot, ok := b.Next(j.when, b.Position)
		if !ok {
			return time.Time{}, false
		}
		if id := job.SlotID(slot); j.run(id) == nil && j.trouble().taken != id && !slot.After(decided) {
			return slot, true
		}
		b.Position, b.Passed = slot, b.Passed+1
	}
	return time.Time{}, false
}

// spares reports whether a worker has room for a backfilled run. It keeps a quarter of its capacity free for other runs, and at
// least room for one. A worker that can execute only one run keeps nothing.
func (p *Planner) spares(present *job.Worker) bool {
	keep := min(present.Capacity-1, max(1, present.Capacity/4))
	return p.worker(present.Name).free() > keep
}

// liveWaits reports whether a due run of the job waits that no backfill created.
func (j *jobState) liveWaits(now time.Time) bool {
	for _, r := range j.live.order {
		if r.Due.After(now) {
			break
		}
		if r.State == job.Pending && r.Kind != job.KindBackfill {
			return true
		}
	}
	return false
}

// backfilled returns how many runs of a backfill have begun and have not ended.
func (s *liveRuns) backfilled() (n int) {
	for _, r := range s.order {
		if r.Kind == job.KindBackfill && r.begun() {
			n++
		}
	}
	return n
}
