package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// backfilledSteps returns the steps that run for each slot of a backfill of j, each behind its parents. It returns false if the
// workflow is not the one that was ordered: a step was added or removed, or got a parent outside.
func (p *Planner) backfilledSteps(j *jobState, b *job.Backfill) (steps []*jobState, same bool) {
	part := map[string]bool{j.name: true}
	for _, name := range b.Steps {
		part[name] = true
	}
	ordered := func(a job.After) bool { return part[a.Job] }
	for name := range part {
		if slices.ContainsFunc(p.steps.children[name], func(c *jobState) bool { return !part[c.name] }) {
			return nil, false
		}
	}
	for _, name := range b.Steps {
		step := p.jobs[name]
		if step == nil || !step.isStep() || slices.ContainsFunc(step.def.Spec.After, func(a job.After) bool { return !ordered(a) }) {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, true
}

// runsBehind returns the runs of steps for the slot of r, which starts their workflow. A step that has a record of the slot gets no
// other.
func (p *Planner) runsBehind(steps []*jobState, r *job.Run) (runs []job.Run) {
	for _, j := range steps {
		step := job.Run{
			Job: j.name, ID: r.ID, Kind: job.KindBackfill, Slot: r.Slot, Due: job.WhenParentsEnd, State: job.Pending,
			Reason: job.ReasonParents, By: r.By, Created: r.Created, Generation: j.def.Generation,
		}
		if j.run(step.ID) != nil || p.steps.bad[step.Name()] {
			continue
		}
		step.Params, step.Defaulted = j.def.Spec.DefaultParams()
		for _, a := range j.def.Spec.After {
			step.After = append(step.After, job.Parent{Job: a.Job, When: a.When})
		}
		runs = append(runs, step)
	}
	return runs
}

// activeSlots returns for how many backfilled slots a run of one of the jobs has not ended.
func activeSlots(jobs []*jobState) int {
	slots := make(map[string]bool)
	for _, j := range jobs {
		for _, r := range j.live.order {
			if r.Kind == job.KindBackfill {
				slots[r.ID] = true
			}
		}
	}
	return len(slots)
}

// maySpare reports whether r, a backfilled step as its parents' ends decide it, takes only room that no due run needs. A step that
// is skipped, or asks for an approval, needs none.
func (p *Planner) maySpare(j *jobState, r *job.Run, now time.Time) bool {
	switch {
	case r.State != job.Armed:
		return j.def == nil || r.State.Terminal() || r.Asked()
	case j.liveWaits(now) || p.unplaced.waiting > 0:
		return false
	}
	w := p.worker(r.Worker).present
	return w != nil && p.spares(w)
}

// postponed returns the decision that writes why the step r must wait although its parents have ended. next is r as their ends
// decide it. postponed returns nil if the record names this kind of wait already.
func postponed(r, next *job.Run) *job.Decision {
	late := *r
	if late.Reason = next.Reason; next.State == job.Armed {
		late.Reason = reasonNoSpare
	}
	if late.Reason == job.ReasonNew || late.WaitsFor() == r.WaitsFor() {
		return nil
	}
	return &job.Decision{Run: &late}
}

// wakeBackfills schedules the jobs whose backfills include a step, after a run of it has ended.
func (p *Planner) wakeBackfills(step string) {
	for name, b := range p.backfills {
		if b.State == job.BackfillRunning && slices.Contains(b.Steps, step) && p.jobs[name] != nil {
			p.markDirty(p.jobs[name])
		}
	}
}
