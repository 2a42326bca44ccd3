package attention

import (
	"maps"
	"slices"
	"strings"

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

// OfNotifiers returns the notifiers whose messages do not arrive, in the order of Sort.
func OfNotifiers(replicas []*job.Replica) (items []Item) {
	for _, r := range replicas {
		for _, u := range r.Undelivered {
			items = append(items, Item{Kind: Notifier, Node: r.Name, Since: u.Since, Text: u.String(), Next: "rota doctor"})
		}
	}
	Sort(items)
	return items
}

// OfListeners returns the processes that also accept connections without TLS, in the order of Sort.
func OfListeners(replicas []*job.Replica, workers []*job.Worker) (items []Item) {
	for name, settings := range job.TLSOptional(replicas, workers) {
		items = append(items, Item{
			Kind: TLSOptional, Node: name, Next: "rota config show --origin",
			Text: name + " also accepts connections without TLS: " + strings.Join(settings, ", ") + ".",
		})
	}
	Sort(items)
	return items
}
