package workflow

import (
	"cmp"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Records finds runs.
type Records struct {
	Run     func(name string) *job.Run        // the run of a name; nil: there is none
	Repeats func(name string) (of []*job.Run) // the runs whose RetryOf is a name, in any order
}

// latest returns the run that stands for the runs with some names: one of them, or one that repeats them, directly or not. It
// prefers a run that succeeded, then one that has not ended, then the last one that was created. nil: there is no run. The history
// may have lost a run that another one repeats.
func (f Records) latest(names ...string) (best *job.Run) {
	seen := map[string]bool{} // a store may contain a cycle of repetitions
	for len(names) > 0 {
		name := names[0]
		if names = names[1:]; seen[name] {
			continue
		}
		seen[name] = true
		if r := f.Run(name); r != nil && (best == nil || comesAfter(r, best)) {
			best = r
		}
		for _, r := range f.Repeats(name) {
			names = append(names, r.Name())
		}
	}
	return best
}

func comesAfter(a, b *job.Run) bool {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) > 0
}

func rank(r *job.Run) int {
	switch {
	case r.State == job.Succeeded:
		return 2
	case !r.State.Terminal():
		return 1
	}
	return 0
}

// ruledOut reports whether r, which waits for its parents, will be skipped. skips has the names of the runs of which this is known.
func (f Records) ruledOut(r *job.Run, skips map[string]bool) bool {
	return slices.ContainsFunc(r.After, func(a job.Parent) bool {
		name := a.Job + "/" + a.RunID(r)
		switch parent := f.Run(name); {
		case parent != nil && parent.State.Terminal():
			return !a.When.Met(parent.State) || SlotSkipped(parent)
		case parent == nil && a.State != "":
			return !a.When.Met(a.State)
		}
		return skips[name] && !a.When.Met(job.Skipped)
	})
}

// followed returns the run of a parent that a step follows when it runs again: latest, the latest run of that parent. If history
// has lost it, it is the one that the step before followed, with its end, or would have followed. before and latest may be nil.
func followed(before, latest *job.Run, parent, id string) job.Parent {
	if latest != nil {
		return job.Parent{Job: parent, ID: latest.ID}
	}
	if before != nil {
		for i := range before.After {
			a := before.After[i]
			if a.Job != parent {
				continue
			}
			if a.ID = a.RunID(before); a.State == job.Skipped && before.SlotSkipped { // perhaps with its whole slot
				a.State = ""
			}
			return a
		}
	}
	return job.Parent{Job: parent, ID: id}
}
