package backend

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// How much waits for a slow reader. If there is more, the stream ends.
const (
	eventBuffer = 256     // messages
	eventBytes  = 1 << 20 // bytes of JSON, if more than one message waits
)

// Watch returns the changes of the store after a revision.
func (b *Backend) Watch(ctx context.Context, after int64) (int64, <-chan []api.Event, error) {
	if err := b.up(); err != nil {
		return 0, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	from, changes, err := b.store.Watch(ctx, after)
	if err != nil {
		stop()
		return 0, nil, storeError(err)
	}
	out := make(chan []api.Event)
	b.streams.Go(func() { // ends with changes, which end with ctx
		defer stop() // at once, because the client of etcd keeps all changes that nobody reads
		b.pass(changes, out)
	})
	return from, out, nil
}

// pass sends changes to out as events, and closes out when changes end. If the reader of out is too slow, pass closes out too.
func (b *Backend) pass(changes <-chan []job.Change, out chan<- []api.Event) {
	defer close(out)
	var waiting [][]api.Event
	size := 0 // of waiting, in bytes
	for {
		var next []api.Event
		var ready chan<- []api.Event // nil if nothing waits
		if len(waiting) > 0 {
			next, ready = waiting[0], out
		}
		select {
		case ready <- next:
			size -= sizeOf(next)
			waiting[0] = nil
			waiting = waiting[1:]
		case batch, ok := <-changes:
			if !ok {
				return
			}
			if events := b.events(batch); len(events) > 0 {
				waiting, size = append(waiting, events), size+sizeOf(events)
			}
			if n := len(waiting); n > eventBuffer || n > 1 && size > eventBytes {
				return
			}
		}
	}
}

// sizeOf returns how many bytes of JSON the events of a message have.
func sizeOf(events []api.Event) (size int) {
	for i := range events {
		size += len(events[i].Value)
	}
	return size
}

// events converts the changes of one revision.
func (b *Backend) events(batch []job.Change) (events []api.Event) {
	for _, c := range batch {
		if e, ok := b.event(c); ok {
			events = append(events, e)
		}
	}
	return events
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
