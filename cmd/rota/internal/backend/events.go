package backend

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// eventBuffer is how many messages wait for a slow reader. If there are more, the stream ends.
const eventBuffer = 256

// Watch returns the changes of the store after a revision.
func (b *Backend) Watch(ctx context.Context, after int64) (int64, <-chan []api.Event, error) {
	if err := b.up(); err != nil {
		return 0, nil, err
	}
	from, changes, err := b.store.Watch(ctx, after)
	if err != nil {
		return 0, nil, storeError(err)
	}
	out := make(chan []api.Event, eventBuffer)
	b.streams.Go(func() { // ends with changes, which end with ctx
		defer close(out)
		for batch := range changes {
			var events []api.Event
			for _, c := range batch {
				if e, ok := b.event(c); ok {
					events = append(events, e)
				}
			}
			if len(events) == 0 {
				continue
			}
			select {
			case out <- events:
			default: // the reader is too slow: out is closed, which ends the request; the end of the request ends changes
				return
			}
		}
	})
	return from, out, nil
}

// event converts a change into an event of the API. ok is false if the API has no event for the change.
func (b *Backend) event(c job.Change) (api.Event, bool) {
	kind, ok := map[job.RecordKind]string{
		job.RecordJob: api.KindJob, job.RecordRun: api.KindRun, job.RecordWorker: api.KindWorker,
		job.RecordReplica: api.KindReplica, job.RecordGate: api.KindGate, job.RecordEvent: api.KindEvent,
		job.RecordAudit: api.KindAudit,
	}[c.Kind]
	if !ok || c.Bad != nil {
		return api.Event{}, false
	}
	if c.Deleted() {
		return api.Removed(kind, c.Name, c.Rev), true
	}
	value := c.Value
	switch v := value.(type) {
	case *job.Job:
		value = b.jobView(v)
	case *job.Run:
		value = api.NewRunView(*v)
	case *job.Worker:
		value = api.WorkerView{Worker: *v, Revision: c.Rev}
	case *job.Replica:
		value = api.ReplicaView{Replica: *v}
	case *job.Gate:
		value = api.GateView{Paused: v.Paused, Since: v.Since}
	case *job.Audit:
		value = api.NewAuditView(*v)
	case *job.Event:
	default:
		return api.Event{}, false
	}
	e, err := api.Changed(kind, c.Name, c.Rev, value)
	return e, err == nil
}
