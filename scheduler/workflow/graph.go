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
func (g Graph) Workflow(name string) []string { return g.inOrder(g.joined(name)) }

// joined returns the jobs that are joined with name, name included.
func (g Graph) joined(name string) map[string]bool {
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
	return seen
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
func (g Graph) inOrder(jobs map[string]bool) []string {
	order, stuck := g.sort(jobs)
	return append(order, stuck...)
}

// sort does the same. stuck has the jobs in cycles, and those behind them.
func (g Graph) sort(jobs map[string]bool) (order, stuck []string) {
	waits := make(map[string]int, len(jobs)) // how many of its parents each job follows that are not in the order yet
	var next []string
	for name := range jobs {
		for _, a := range g.parents[name] {
			if jobs[a.Job] {
				waits[name]++
			}
		}
		if waits[name] == 0 {
			next = append(next, name)
		}
	}
	for len(next) > 0 {
		slices.Sort(next)
		order = append(order, next...)
		var freed []string
		for _, name := range next {
			for _, child := range g.children[name] {
				if waits[child]--; jobs[child] && waits[child] == 0 {
					freed = append(freed, child)
				}
			}
		}
		next = freed
	}
	stuck = slices.DeleteFunc(slices.Sorted(maps.Keys(jobs)), func(name string) bool { return waits[name] <= 0 })
	return order, stuck
}

// all returns the names of all jobs.
func (g Graph) all() map[string]bool {
	all := make(map[string]bool, len(g.parents))
	for name := range g.parents {
		all[name] = true
	}
	return all
}

// Depths returns how many steps lead to each job at most; 0 for a job without parents.
func (g Graph) Depths() map[string]int {
	depths := make(map[string]int, len(g.parents))
	for _, name := range g.inOrder(g.all()) {
		for _, a := range g.parents[name] {
			depths[name] = max(depths[name], depths[a.Job]+1)
		}
	}
	return depths
}

// Roots returns the jobs without parents in the workflow of name, sorted.
func (g Graph) Roots(name string) (roots []string) {
	for n := range g.joined(name) {
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
	var walk func(at string) []string // returns the path from name back to at
	walk = func(at string) []string {
		for _, a := range g.parents[at] {
			if a.Job == name {
				return []string{name, at}
			}
			if !seen[a.Job] {
				seen[a.Job] = true
				if path := walk(a.Job); path != nil {
					return append(path, at)
				}
			}
		}
		return nil
	}
	path := walk(name)
	slices.Reverse(path)
	return path
}

// Runs returns the records of the steps behind the run r, which is to start a workflow. They have the id of r and wait for their
// parents. generation returns that of the definition of a step. Parents that are not behind r are left out: they are no
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
