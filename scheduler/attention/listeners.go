package attention

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

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
