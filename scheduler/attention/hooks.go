package attention

import "github.com/rota-scheduler/rota/scheduler/job"

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
			for _, owner := range list { // a reader may see some of them only
				items = append(items, Item{
					Kind: Hook, Job: owner, Next: "rota job " + owner,
					Text: "Hook " + name + " of job " + owner + " belongs to another job too, so it refuses every delivery: " +
						"remove it from all but one.",
				})
			}
		}
	}
	return items
}
