package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Problem is a mistake in the workflows of a set of definitions.
type Problem struct {
	Job    string // the job that has the mistake
	Parent int    // the index of the parent that it is about
	Slots  bool   // it is about jobs without parents that have different slots
	Text   string
	Hint   string
	Names  string // the jobs that Text names, with spaces between them; "": only the parent
}

// Check returns the mistakes in the workflows of definitions: cycles, parents that do not exist, and jobs without parents in one
// workflow that have different slots. It reports the last kind once for each workflow.
func Check(specs map[string]*job.Spec) (problems []Problem) {
	g := Of(specs)
	inCycle, checked := map[string]bool{}, map[string]bool{} // jobs in reported cycles, and in workflows whose slots were checked
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		after := specs[name].After
		for i, a := range after {
			if _, exists := specs[a.Job]; !exists {
				problems = append(problems, Undefined(name, i, a.Job))
			}
		}
		if cycle := g.Cycle(name); cycle != nil && !inCycle[name] {
			for _, n := range cycle {
				inCycle[n] = true
			}
			i := slices.IndexFunc(after, func(a job.After) bool { return a.Job == cycle[1] })
			problems = append(problems, Problem{
				name, i, false, "after makes a cycle: " + strings.Join(cycle, " after "), "remove one of these from after",
				strings.Join(cycle, " "),
			})
		}
		if len(after) > 0 && !checked[name] {
			problems = append(problems, differentSlots(g, specs, name, checked)...)
		}
	}
	return problems
}

// Undefined returns the mistake of a job whose parent with an index does not exist.
func Undefined(name string, index int, parent string) Problem {
	return Problem{
		Job: name, Parent: index, Text: "parent \"" + parent + "\" is not defined", Hint: "define the job, or remove it from after",
	}
}

// Inherit returns the overlap policy of a step that names none: allow if all jobs without parents in its workflow allow overlaps,
// otherwise queue.
func (g Graph) Inherit(specs map[string]*job.Spec, name string) job.Overlap {
	roots := g.Roots(name)
	for _, root := range roots {
		if specs[root].Overlap != job.OverlapAllow {
			return job.OverlapQueue
		}
	}
	if len(roots) == 0 {
		return job.OverlapQueue
	}
	return job.OverlapAllow
}

// differentSlots reports whether jobs without parents, in the workflow of a step, have different slots.
func differentSlots(g Graph, specs map[string]*job.Spec, name string, checked map[string]bool) []Problem {
	roots, members := g.Roots(name), g.Workflow(name)
	for _, n := range members {
		checked[n] = true
	}
	for _, other := range roots[min(1, len(roots)):] {
		key := job.DifferentSlots(specs[roots[0]], specs[other])
		if key == "" {
			continue
		}
		join := name
		for _, n := range members { // the first step that joins both is the place to change
			above := above(g, n)
			if len(g.parents[n]) > 1 && above[roots[0]] && above[other] {
				join = n
				break
			}
		}
		i := max(0, slices.IndexFunc(g.parents[join], func(a job.After) bool { return a.Job == other || above(g, a.Job)[other] }))
		return []Problem{{
			join, i, true, "jobs " + roots[0] + " and " + other + " start one workflow, but differ in " + key,
			"write the same " + key + " in both, or remove one of them from the workflow",
			roots[0] + " " + other,
		}}
	}
	return nil
}

// above returns the jobs from which name can be reached.
func above(g Graph, name string) map[string]bool {
	seen := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		for _, a := range g.parents[at] {
			if !seen[a.Job] {
				seen[a.Job] = true
				todo = append(todo, a.Job)
			}
		}
	}
	return seen
}
