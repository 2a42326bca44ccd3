package attention

import "github.com/rota-scheduler/rota/scheduler/job"

// OfOutputs returns the workers that cannot upload output to output.store, in the order of Sort.
func OfOutputs(workers []*job.Worker) (items []Item) {
	for _, w := range workers {
		if w.OutputTrouble != "" {
			items = append(items, Item{
				Kind: Output, Node: w.Name, Next: "rota doctor",
				Text: "Worker " + w.Name + " cannot upload output, which waits there while runs continue: " + w.OutputTrouble + ".",
			})
		}
	}
	Sort(items)
	return items
}
