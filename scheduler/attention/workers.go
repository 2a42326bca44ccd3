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
		add := func(kind, next, text string) {
			items = append(items, Item{Kind: kind, Node: w.Name, Next: next, Text: "Worker " + w.Name + " " + text + "."})
		}
		if w.Broken != "" {
			add(Broken, "rota doctor", "takes no runs until this is repaired: "+w.Broken)
		}
		for _, kind := range slices.Sorted(maps.Keys(w.Away)) {
			add(Broken, "rota doctor", "takes no "+kind+" jobs until this is repaired: "+w.Away[kind])
		}
		if w.OutputTrouble != "" {
			add(Output, "rota doctor", "cannot upload output, which waits there while runs continue: "+w.OutputTrouble)
		}
		if w.Pressure != "" {
			add(Pressure, "rota workers", "takes no runs since its machine reached "+w.Pressure)
		}
	}
	Sort(items)
	return items
}
