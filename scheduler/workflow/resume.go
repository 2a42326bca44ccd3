package workflow

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Follow returns the parents of old for a run that repeats it: the same runs, with their ends.
func Follow(old *job.Run) []job.Parent {
	if len(old.After) == 0 || old.SlotSkipped {
		return nil
	}
	list := make([]job.Parent, len(old.After))
	for i, a := range old.After {
		a.ID = a.RunID(old)
		list[i] = a
	}
	return list
}

// Waited reports whether old, which has ended, was canceled while it waited for its parents. A run that repeats it waits for them
// too: the record of old says how they ended, and whether they have outputs, only of those that history had lost.
func Waited(old *job.Run) bool { return len(old.After) > 0 && old.Due.Equal(job.WhenParentsEnd) }

// Unfit says why the workflow cannot be resumed from old, which has ended; "" if it can. It can if old itself did not succeed. If
// a step was skipped because of its parents, the workflow is resumed from one of them.
func Unfit(old *job.Run) string {
	switch {
	case old.State == job.Succeeded:
		return "it succeeded: resume the workflow from a run that failed"
	case old.On != "":
		return "it is for one worker: resume the workflow from the run on every worker"
	case SkippedForParents(old):
		return "it was skipped: " + old.Reason + ": resume the workflow from that parent"
	}
	return ""
}

// SkippedForParents reports whether r was skipped because of its parents, and not for a reason of its own.
func SkippedForParents(r *job.Run) bool {
	unmet := func(a job.Parent) bool { return !a.When.Met(a.State) }
	return r.State == job.Skipped && (r.SlotSkipped || slices.ContainsFunc(r.After, unmet))
}

// Resume returns the records of the steps that run again together with r, which repeats the failed run old. They have the id of r.
// These are the steps behind old that did not succeed, or have no run yet. If old itself repeats a run, a step that has no run with
// the id of old may have succeeded with that of the earlier run. If a run was repeated since, as after two failures in one
// workflow, its repetition stands for it. A step that succeeded does not run again: steps that follow it follow its run. The same
// holds for a step that is not decided yet, unless the end of a parent rules it out. open reports whether a step without a record
// gets one in the slot of old, or of the run that old repeats.
func (g Graph) Resume(
	old, r *job.Run, records Records, open func(name string) bool, generation func(name string) int64,
) (steps []job.Run) {
	ids := lineage(old, records.Run)
	first := old.ID // the id with which a step that has no run yet gets one
	if OfSlot(old, records.Run) {
		first = job.SlotID(old.Slot)
	}
	latest := func(name string) *job.Run {
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = name + "/" + id
		}
		return records.latest(names...)
	}
	again, skips := map[string]bool{old.Job: true}, map[string]bool{} // skips: names of runs that are not decided yet, and ruled out
	for _, name := range g.Behind(old.Job) {
		before := latest(name)
		undecided := before
		if before == nil && open(name) {
			undecided = g.slotRun(name, first)
		}
		if undecided != nil && undecided.AwaitsParents() {
			if skips[undecided.Name()] = records.ruledOut(undecided, skips); !skips[undecided.Name()] {
				continue
			}
		}
		reached := slices.ContainsFunc(g.parents[name], func(a job.After) bool { return again[a.Job] })
		if !reached || before != nil && (before.State == job.Succeeded || !before.State.Terminal() && !before.AwaitsParents()) {
			continue
		}
		again[name] = true
		step := stepOf(r, before, name)
		step.Generation = generation(name)
		for _, a := range g.parents[name] {
			p := job.Parent{Job: a.Job}
			if !again[a.Job] {
				p = followed(before, latest(a.Job), a.Job, first)
			}
			p.When = a.When
			step.After = append(step.After, p)
		}
		steps = append(steps, step)
	}
	return steps
}

// slotRun returns the run that a step gets in a slot, while it waits for its parents.
func (g Graph) slotRun(name, id string) *job.Run {
	r := &job.Run{Job: name, ID: id, State: job.Pending, Due: job.WhenParentsEnd}
	for _, a := range g.parents[name] {
		r.After = append(r.After, job.Parent{Job: a.Job, When: a.When})
	}
	return r
}

// stepOf returns the record of a step that runs together with r, and repeats the run before; nil: the step had no run. The caller
// sets its parents and its generation.
func stepOf(r, before *job.Run, name string) job.Run {
	step := *r
	step.Job, step.Key, step.Payload, step.Spec, step.RetryOf, step.After = name, "", nil, nil, "", nil
	step.Params, step.Defaulted = nil, nil
	step.State, step.Reason, step.Due = job.Pending, job.ReasonParents, job.WhenParentsEnd
	if before != nil {
		step.RetryOf, step.Payload = before.Name(), before.Payload
		step.Params, step.Defaulted = before.Params, before.Defaulted
	}
	return step
}

// OfSlot reports whether r is the run of its slot, or repeats that run, directly or not. run returns the run of a name; nil: there
// is none.
func OfSlot(r *job.Run, run func(name string) *job.Run) bool {
	return slices.Contains(lineage(r, run), job.SlotID(r.Slot))
}

// maxLineage bounds how many earlier runs lineage follows: a store may contain a cycle of them.
const maxLineage = 100

// lineage returns the id of a run, and those of the runs that it repeats, latest first.
func lineage(r *job.Run, run func(name string) *job.Run) []string {
	ids := []string{r.ID}
	for r.RetryOf != "" && len(ids) < maxLineage {
		_, id, err := job.ParseRunName(r.RetryOf)
		if err != nil {
			break
		}
		ids = append(ids, id)
		if r = run(r.RetryOf); r == nil {
			break
		}
	}
	return ids
}
