package attention

import "github.com/rota-scheduler/rota/scheduler/job"

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
