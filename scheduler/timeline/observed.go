package timeline

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// WithObserved returns the events with the outages that one replica observes now and that no leader has recorded yet. A replica
// that has lost the majority tells them itself, because nobody can record them.
func WithObserved(events []*job.Event, observed []job.Outage) []*job.Event {
	for _, o := range observed {
		if o.Node == "" || !o.Until.IsZero() || slices.ContainsFunc(events, func(e *job.Event) bool {
			return records(e, o)
		}) {
			continue
		}
		if e, isNew := recordOutage(nil, o); isNew {
			events = append(slices.Clip(events), &e)
		}
	}
	return events
}
