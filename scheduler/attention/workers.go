package attention

import "github.com/rota-scheduler/rota/scheduler/job"

// OfWorkers returns the workers that cannot upload output to output.store, and those that take no runs because of the pressure of
// their machine, in the order of Sort.
func OfWorkers(workers []*job.Worker) (items []Item) {
	for _, w := range workers {
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
