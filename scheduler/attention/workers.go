package attention

import (
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// OfWorkers returns the workers that take no runs, or none of a kind, because something is broken. It also returns those whose
// machine is under pressure, and those that cannot upload output to output.store. The items are in the order of Sort.
func OfWorkers(workers []*job.Worker) (items []Item) {
	for _, w := range workers {
		if w.Broken != "" {
			items = append(items, Item{
				Kind: Broken, Node: w.Name, Next: "rota doctor",
				Text: "Worker " + w.Name + " takes no runs until this is repaired: " + w.Broken + ".",
			})
		}
		for _, kind := range slices.Sorted(maps.Keys(w.Away)) {
			items = append(items, Item{
				Kind: Broken, Node: w.Name, Next: "rota doctor",
				Text: "Worker " + w.Name + " takes no " + kind + " jobs until this is repaired: " + w.Away[kind] + ".",
			})
		}
		if w.OutputTrouble != "" {
			items = append(items, Item{
				Kind: Output, Node: w.Name, Next: "rota doctor",
				Text: "Worker " + w.Name + " cannot upload output, which waits there while runs continue: " + w.OutputTrouble + ".",
			})
		}
		if w.Pressure != "" {
			items = append(items, Item{
				Kind: Pressure, Node: w.Name, Next: "rota workers",
				Text: "Worker " + w.Name + " takes no runs since its machine reached " + w.Pressure + ".",
			})
		}
	}
	Sort(items)
	return items
}
