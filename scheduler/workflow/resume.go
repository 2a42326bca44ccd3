package workflow

import "github.com/rota-scheduler/rota/scheduler/job"

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

// Resume returns the records of the steps that run again together with r, which repeats the failed run old. They have the id of r.
// These are the steps behind old that did not succeed with the id of old, or have no run of it yet. A step that succeeded does not
// run again: steps that follow it follow its run. run returns the record of a name, nil if there is none.
func (g Graph) Resume(old, r *job.Run, run func(name string) *job.Run, generation func(name string) int64) (steps []job.Run) {
	again := map[string]bool{old.Job: true}
	for _, name := range g.Behind(old.Job) {
		before := run(name + "/" + old.ID)
		reached := false // through a step that runs again
		for _, a := range g.parents[name] {
			reached = reached || again[a.Job]
		}
		if !reached || before != nil && (before.State == job.Succeeded || !before.State.Terminal() && !before.AwaitsParents()) {
			continue
		}
		again[name] = true
		step := *r
		step.Job, step.Key, step.Payload, step.Spec, step.RetryOf, step.After = name, "", nil, nil, "", nil
		step.Params, step.Defaulted = nil, nil
		step.State, step.Reason, step.Due = job.Pending, job.ReasonParents, job.WhenParentsEnd
		step.Generation = generation(name)
		if before != nil {
			step.RetryOf, step.Payload = before.Name(), before.Payload
			step.Params, step.Defaulted = before.Params, before.Defaulted
		}
		for _, a := range g.parents[name] {
			p := job.Parent{Job: a.Job, When: a.When}
			if !again[a.Job] {
				p.ID = followed(before, a.Job, old.ID)
			}
			step.After = append(step.After, p)
		}
		steps = append(steps, step)
	}
	return steps
}

// followed returns the id of the run of a parent that the step before followed, or would have followed.
func followed(before *job.Run, parent, id string) string {
	if before != nil {
		for i := range before.After {
			if a := &before.After[i]; a.Job == parent {
				return a.RunID(before)
			}
		}
	}
	return id
}
