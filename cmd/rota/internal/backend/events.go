package backend

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// How much waits for a slow reader. If there is more, the stream ends.
const (
	eventBuffer = 256     // messages
	eventBytes  = 1 << 20 // bytes of JSON, if more than one message waits
)

const (
	// pastPerSecond is how many bytes of the past all streams together read in a second. etcd applies no write while it reads them.
	pastPerSecond = store.BriefLog
	// pastPatience is how long a stream waits for its turn to read the past.
	pastPatience = time.Second
)

// Watch returns the changes of the store after a revision; those from now on if after is 0. They also begin now if more has changed
// since after than a live store can read, or if other streams read the past for long. All streams share one watch of the store. A
// stream that begins in the past has a watch of its own until it has caught up.
func (b *Backend) Watch(ctx context.Context, after int64) (from int64, events <-chan []api.Event, err error) {
	if err := b.up(); err != nil {
		return 0, nil, err
	}
	if after > 0 {
		turn, cancel := context.WithTimeout(ctx, pastPatience)
		defer cancel()
		if bytes := b.mirror.Past(after); b.past.WaitN(turn, bytes) != nil { // it refuses more than BriefLog
			after = 0
		}
	}
	return b.stream(ctx, b.store, after)
}

// source is the part of the store from which streams of events come.
type source interface {
	Watch(ctx context.Context, after int64) (from int64, changes <-chan []job.Change, err error)
	Revision(ctx context.Context) (int64, error)
}

func (b *Backend) stream(ctx context.Context, src source, after int64) (from int64, events <-chan []api.Event, err error) {
	sources, stop := context.WithCancel(ctx)
	s := &eventStream{convert: b.events, stop: stop}
	if after > 0 {
		var own context.Context
		own, s.endPast = context.WithCancel(sources)
		from, s.past, err = src.Watch(own, after)
	} else {
		from, err = src.Revision(sources)
	}
	var joined int64
	if err == nil {
		joined, s.live, err = b.hub.join(sources, src, b.events)
	}
	if err != nil {
		stop()
		return 0, nil, storeError(err)
	}
	if s.past == nil {
		from = max(from, joined) // another stream may have begun the shared watch after from
	}
	out := make(chan []api.Event)
	s.reached, s.out = from, out
	b.streams.Go(func() { s.run(ctx) })
	return from, out, nil
}

// eventStream is one stream of events.
type eventStream struct {
	live    <-chan message      // the shared watch
	past    <-chan []job.Change // the watch of this stream until it has caught up with live; nil: it has
	endPast context.CancelFunc  // ends past; nil if there was none
	held    []message           // of live, until the stream has caught up
	reached int64               // the revision of the latest message of waiting, or that after which the stream begins
	waiting [][]api.Event       // for the reader
	size    int                 // of waiting and held, in bytes
	out     chan<- []api.Event
	convert func([]job.Change) []api.Event
	stop    context.CancelFunc // leaves live, and ends past
}

// run sends messages to out until ctx or the source ends, or until the reader is too slow. Then it closes out. A reader that is too
// slow gets what waits for it first. Otherwise a reader that is far behind would connect again and again, and never come further.
func (s *eventStream) run(ctx context.Context) {
	defer close(s.out)
	defer s.stop()
	for {
		var next []api.Event
		var ready chan<- []api.Event // nil if nothing waits
		if len(s.waiting) > 0 {
			next, ready = s.waiting[0], s.out
		}
		select {
		case <-ctx.Done():
			return
		case ready <- next:
			s.size -= sizeOf(next)
			s.waiting[0] = nil
			s.waiting = s.waiting[1:]
		case msg, ok := <-s.live:
			if !ok {
				return
			}
			s.held, s.size = append(s.held, msg), s.size+sizeOf(msg.events)
		case batch, ok := <-s.past:
			if !ok {
				return
			}
			s.wait(message{batch[0].Rev, s.convert(batch)})
		}
		s.catchUp()
		if n := len(s.waiting) + len(s.held); n > eventBuffer || n > 1 && s.size > eventBytes {
			s.stop() // at once, because the client of etcd keeps all changes that nobody reads
			s.deliver(ctx)
			return
		}
	}
}

// deliver sends what waits for the reader.
func (s *eventStream) deliver(ctx context.Context) {
	for _, events := range s.waiting {
		select {
		case s.out <- events:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp moves the messages of live to the reader, as soon as past has delivered all changes before them.
func (s *eventStream) catchUp() {
	if len(s.held) == 0 || s.past != nil && s.reached < s.held[0].rev {
		return
	}
	if s.past != nil {
		s.endPast()
		s.past = nil
	}
	for _, msg := range s.held {
		s.size -= sizeOf(msg.events)
		s.wait(msg)
	}
	s.held = nil
}

// wait adds a message that the reader does not have yet.
func (s *eventStream) wait(msg message) {
	if msg.rev <= s.reached {
		return
	}
	s.reached = msg.rev
	if len(msg.events) > 0 {
		s.waiting, s.size = append(s.waiting, msg.events), s.size+sizeOf(msg.events)
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
		w := api.NewWorkerView(*v)
		w.Revision = c.Rev
		value = w
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
