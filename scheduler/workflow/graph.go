package workflow

import (
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Graph has the parents and the children of each job. It may have cycles and parents that do not exist: a store may contain
// them, since others can write to it.
type Graph struct {
	parents  map[string][]job.After // by the name of a job that exists
	children map[string][]string    // the steps that directly follow a job, sorted
}

// Of returns the graph of definitions.
func Of(specs map[string]*job.Spec) Graph {
	g := Graph{parents: make(map[string][]job.After, len(specs)), children: make(map[string][]string)}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		g.parents[name] = specs[name].After
		for _, a := range specs[name].After {
			g.children[a.Job] = append(g.children[a.Job], name)
		}
	}
	return g
}

// Parents returns the parents of a job.
func (g Graph) Parents(name string) []job.After { return g.parents[name] }

// Workflow returns the jobs that are joined with name, name included. Each follows its parents, unless there is a cycle.
func (g Graph) Workflow(name string) []string {
	seen := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		next := slices.Clone(g.children[at])
		for _, a := range g.parents[at] {
			next = append(next, a.Job)
		}
		for _, n := range next {
			if _, exists := g.parents[n]; exists && !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return g.inOrder(seen)
}

// Behind returns the steps behind a job, without the job itself. Each follows its parents.
func (g Graph) Behind(name string) []string {
	seen := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		for _, n := range g.children[at] {
			if n != name && !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return g.inOrder(seen)
}

// inOrder sorts jobs such that each follows its parents, and those that may go first by their names. Jobs in a cycle come last.
func (g Graph) inOrder(jobs map[string]bool) (order []string) {
	left := slices.Sorted(maps.Keys(jobs))
	placed := make(map[string]bool, len(left))
	for len(left) > 0 {
		waits := func(name string) bool {
			return slices.ContainsFunc(g.parents[name], func(a job.After) bool { return jobs[a.Job] && !placed[a.Job] })
		}
		var next, rest []string
		for _, name := range left {
			if waits(name) {
				rest = append(rest, name)
			} else {
				next = append(next, name)
			}
		}
		if len(next) == 0 {
			return append(order, rest...)
		}
		for _, name := range next {
			placed[name] = true
		}
		order, left = append(order, next...), rest
	}
	return order
}

// Depths returns how many steps lead to each job at most; 0 for a job without parents.
func (g Graph) Depths() map[string]int {
	all := make(map[string]bool, len(g.parents))
	for name := range g.parents {
		all[name] = true
	}
	depths := make(map[string]int, len(all))
	for _, name := range g.inOrder(all) {
		for _, a := range g.parents[name] {
			depths[name] = max(depths[name], depths[a.Job]+1)
		}
	}
	return depths
}

// Roots returns the jobs without parents in the workflow of name, sorted.
func (g Graph) Roots(name string) (roots []string) {
	for _, n := range g.Workflow(name) {
		if len(g.parents[n]) == 0 {
			roots = append(roots, n)
		}
	}
	slices.Sort(roots)
	return roots
}

// Cycle returns a cycle through name: name, a parent of it, a parent of that, and so on until name again. nil: there is none.
func (g Graph) Cycle(name string) []string {
	seen := map[string]bool{}
	var walk func(at string) []string
	walk = func(at string) []string {
		for _, a := range g.parents[at] {
			if a.Job == name {
				return []string{at, name}
			}
			if !seen[a.Job] {
				seen[a.Job] = true
				if path := walk(a.Job); path != nil {
					return append([]string{at}, path...)
				}
			}
		}
		return nil
	}
	return walk(name)
}

// Runs returns the records of the steps behind the run r, which is to start a workflow. They have the id of r and wait for their
// parents. spec returns the definition of a step, and its generation. Parents that are not behind r are left out: they are no
// part of this start.
func (g Graph) Runs(r *job.Run, generation func(name string) int64) []job.Run {
	behind := g.Behind(r.Job)
	part := map[string]bool{r.Job: true}
	for _, name := range behind {
		part[name] = true
	}
	runs := make([]job.Run, 0, len(behind))
	for _, name := range behind {
		step := *r
		step.Job, step.Key, step.Payload, step.RetryOf, step.After = name, "", nil, "", nil
		step.Params, step.Defaulted = nil, nil
		step.State, step.Reason, step.Due = job.Pending, job.ReasonParents, job.WhenParentsEnd
		step.Generation = generation(name)
		for _, a := range g.parents[name] {
			if part[a.Job] {
				step.After = append(step.After, job.Parent{Job: a.Job, When: a.When})
			}
		}
		runs = append(runs, step)
	}
	return runs
}
