package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// lateMargin is how long after its finish_by a slot is late. The end of a run becomes known after a moment, and clocks differ.
const lateMargin = 2 * time.Second

// feedRetry is how soon a slot is looked at again after the feed lagged too far behind.
const feedRetry = 500 * time.Millisecond

// lateSlots holds the slots of jobs that this leader knows to be recorded as late, by the name of the job.
type lateSlots map[string]map[time.Time]bool

// reportLate records a slot whose run has not ended by the finish_by of its job. The event's id follows from the slot and from
// finish_by, so that a slot has one event, whichever leader writes it. If finish_by is edited, the next leader may write a second
// one: the slot has missed the new time, too. Notifiers take both for one cause.
func (p *Planner) reportLate(j *jobState, now time.Time) *job.Decision {
	if j.def == nil || j.def.Spec.FinishBy == "" {
		return nil
	}
	open := p.unended(j, now)
	for slot := range p.late[j.name] {
		if !slices.ContainsFunc(open, slot.Equal) {
			delete(p.late[j.name], slot)
		}
	}
	for _, slot := range open {
		by, ok := policy.FinishBy(j.def.Spec, slot)
		if at := by.Add(lateMargin); !ok || p.late[j.name][slot] {
			continue
		} else if now.Before(at) {
			p.wakeAt(j, at)
			continue
		} else if now.Add(-p.feedLag).Before(at) { // the feed may not have brought the end of the run yet
			p.wakeAt(j, now.Add(feedRetry))
			continue
		}
		e := job.Event{
			ID: job.EventID(by, "late-"+slot.UTC().Format(job.EventStamp)), Kind: job.EventLate, Job: j.name, At: now,
			Reason: reasonLateSlot(by), From: slot, To: slot, Count: 1, Run: j.name + "/" + job.SlotID(slot),
		}
		return &job.Decision{Event: &e, Guards: []job.Guard{{Kind: job.RecordEvent, Name: e.Job + "/" + e.ID}}}
	}
	return nil
}

// wakeLate schedules the steps behind j that have a finish_by, because a slot of theirs has begun.
func (p *Planner) wakeLate(j *jobState) {
	for step := range p.behind(j) {
		if step.def != nil && step.def.Spec.FinishBy != "" {
			p.markDirty(step)
		}
	}
}

// reasonLateSlot says what a late slot has missed.
func reasonLateSlot(by time.Time) string {
	return fmt.Sprintf("not finished by %s", by.UTC().Format(time.RFC3339))
}

// settleLate takes the store's answer to a decision of reportLate. A conflict means that an earlier leader has written the event.
func (p *Planner) settleLate(d job.Decision) {
	if p.late == nil {
		p.late = lateSlots{}
	}
	if p.late[d.Job] == nil {
		p.late[d.Job] = make(map[time.Time]bool, 1)
	}
	p.late[d.Job][d.Event.From] = true
}

// unended returns the slots of a job that have begun and not ended. They have a live run, or wait for an earlier run of the job.
// Those of a step may also wait for the end of an earlier job.
func (p *Planner) unended(j *jobState, now time.Time) (slots []time.Time) {
	for _, r := range j.live.order {
		if r.Kind == job.KindScheduled {
			slots = append(slots, r.Slot)
		}
	}
	if j.isStep() {
		return append(slots, p.pendingSlots(j, now)...)
	}
	return append(slots, p.dueSlots(j, j, now)...)
}

// dueSlots returns the first slots of root that are due and undecided, because they wait for an earlier run. It sets the timer of j
// for the slot after them, since no decision is needed when that comes due.
func (p *Planner) dueSlots(root, j *jobState, now time.Time) (slots []time.Time) {
	if _, ok := p.nextDue(root); !ok || p.skipObsolete(root) != nil {
		return nil
	}
	slot, more := p.position(root).next, true
	for more && len(slots) < MaxQueued {
		if due := slot.Add(root.when.Offset()); due.After(now) {
			p.wakeAt(j, due)
			break
		}
		slots = append(slots, slot)
		slot, _, more = p.nextUnpaused(root, slot)
	}
	return slots
}

// pendingSlots returns the undecided slots of a step that are under way at a job before it, or wait there for an earlier run.
func (p *Planner) pendingSlots(j *jobState, now time.Time) (slots []time.Time) {
	at := p.stepPosition(j)
	before, seen := []*jobState{j}, map[*jobState]bool{j: true}
	add := func(list []time.Time) {
		slots = append(slots, slices.DeleteFunc(list, at.Passed)...)
	}
	for i := 0; i < len(before); i++ {
		if !before[i].isStep() {
			add(p.dueSlots(before[i], j, now))
			continue
		}
		add(p.openSlots(before[i], p.stepPosition(before[i])))
		for _, a := range before[i].def.Spec.After {
			if parent := p.jobs[a.Job]; parent != nil && parent.def != nil && !seen[parent] {
				seen[parent] = true
				before = append(before, parent)
			}
		}
	}
	slices.SortFunc(slots, time.Time.Compare)
	return slices.CompactFunc(slots, time.Time.Equal)
}
