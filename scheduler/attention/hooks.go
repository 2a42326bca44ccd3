package attention

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// hooks returns the hooks that several jobs have. Definitions that are written at the same time may get one name.
func hooks(jobs []*job.Job) (items []Item) {
	owners := map[string][]string{}
	for _, j := range jobs {
		for name := range j.Spec.Hooks {
			owners[name] = append(owners[name], j.Name)
		}
	}
	for name, list := range owners {
		if len(list) > 1 {
			slices.Sort(list)
			items = append(items, Item{
				Kind: Hook, Job: list[0], Next: "rota job " + list[0],
				Text: "Hook " + name + " belongs to the jobs " + strings.Join(list, ", ") +
					", so it refuses every delivery: remove it from all but one.",
			})
		}
	}
	return items
}
