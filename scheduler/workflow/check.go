package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
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
	checked := map[string]bool{}  // jobs in workflows whose slots were checked
	suspects := map[string]bool{} // jobs that may be in a cycle that is not reported yet
	_, stuck := g.sort(g.all())
	for _, name := range stuck {
		suspects[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		after := specs[name].After
		for i, a := range after {
			if _, exists := specs[a.Job]; !exists {
				problems = append(problems, Undefined(name, i, a.Job))
			}
		}
		var cycle []string
		if suspects[name] {
			cycle = g.Cycle(name)
		}
		if cycle != nil {
			for _, n := range cycle {
				delete(suspects, n)
			}
			i := slices.IndexFunc(after, func(a job.After) bool { return a.Job == cycle[1] })
			problems = append(problems, Problem{
				name, i, false, "after makes a cycle: " + path(cycle), "remove one of these from after",
				strings.Join(cycle, " "),
			})
		}
		if len(after) > 0 && !checked[name] {
			problems = append(problems, differentSlots(g, specs, name, checked)...)
		}
	}
	return problems
}

// path returns a cycle as text. It leaves out the middle of a cycle for which a message has no room.
func path(cycle []string) string {
	const sep, most, ends = " after ", 1000, 6 // six names at each end take less than most
	if more := len(cycle) - 2*ends; more > 0 && len(strings.Join(cycle, sep)) > most {
		cycle = slices.Concat(cycle[:ends], []string{fmt.Sprintf("… %d more …", more)}, cycle[len(cycle)-ends:])
	}
	return strings.Join(cycle, sep)
}

// Undefined returns the mistake of a job whose parent with an index does not exist.
func Undefined(name string, index int, parent string) Problem {
	return Problem{
		Job: name, Parent: index, Text: "parent \"" + parent + "\" is not defined", Hint: "define the job, or remove it from after",
	}
}

// Inherit returns the overlap policy of steps that name none, by the name of the step: allow if all jobs without parents in its
// workflow allow overlaps, otherwise queue.
func (g Graph) Inherit(specs map[string]*job.Spec) map[string]job.Overlap {
	policies := make(map[string]job.Overlap, len(specs))
	for name := range specs {
		if _, known := policies[name]; known {
			continue
		}
		members, roots, allowed := g.joined(name), 0, 0
		for n := range members {
			if len(g.parents[n]) == 0 {
				roots++
				if specs[n].Overlap == job.OverlapAllow {
					allowed++
				}
			}
		}
		policy := job.OverlapQueue
		if roots > 0 && allowed == roots {
			policy = job.OverlapAllow
		}
		for n := range members {
			policies[n] = policy
		}
	}
	return policies
}

// differentSlots reports whether jobs without parents, in the workflow of a step, have different slots.
func differentSlots(g Graph, specs map[string]*job.Spec, name string, checked map[string]bool) []Problem {
	roots, members := g.Roots(name), g.Workflow(name)
	for _, n := range members {
		checked[n] = true
	}
	for _, other := range roots[min(1, len(roots)):] {
		text, hint := difference(specs, roots[0], other)
		if text == "" {
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
			join, i, true, "jobs " + roots[0] + " and " + other + " start one workflow, but " + text,
			hint + ", or remove one of them from the workflow",
			roots[0] + " " + other,
		}}
	}
	return nil
}

// difference says how the slots of two jobs differ, and how to make them equal; "" if both have the same slots.
func difference(specs map[string]*job.Spec, a, b string) (text, hint string) {
	if key := job.DifferentSlots(specs[a], specs[b]); key != "" {
		return "differ in " + key, "write the same " + key + " in both"
	}
	if slices.ContainsFunc(specs[a].Schedule, schedule.Hashed) {
		return "H in their schedule stands for other numbers in each", "write the same numbers in both"
	}
	return "", ""
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
