package attention

import "github.com/rota-scheduler/rota/scheduler/job"

// OfPressure returns the workers that take no runs because of the pressure of their machine, in the order of Sort.
func OfPressure(workers []*job.Worker) (items []Item) {
	for _, w := range workers {
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
