package backend

import (
	"context"
	"sync"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// message has the events of one revision.
type message struct {
	rev    int64
	events []api.Event // shared by all streams: read only
}

// hub passes one watch of the store to all streams of events. If each stream had its own watch, it would read every record from
// etcd and decode it again. A few hundred streams would then leave the replica no time to renew its leases.
type hub struct {
	turn  chan struct{}  // holds a token while a watch begins
	tasks sync.WaitGroup // counts watches

	mu     sync.Mutex
	shared *shared // guarded by mu; nil: no stream is open, or the watch has ended
}

// shared is one watch and its members.
type shared struct {
	end     context.CancelFunc   // ends the watch
	members map[*member]struct{} // guarded by hub.mu
	reached int64                // guarded by hub.mu: members get all changes after this revision
}

// member is a stream that receives the messages of a shared watch.
type member struct {
	in   chan message    // closed when the watch has ended
	left context.Context // ends when the stream does not read in any more
}

func newHub() *hub { return &hub{turn: make(chan struct{}, 1)} }

// join returns a channel of all changes after the revision from, which is not later than the present one. The channel is closed
// when the watch ends. The caller must read at once, and must keep reading until ctx ends.
func (h *hub) join(
	ctx context.Context, src source, convert func([]job.Change) []api.Event,
) (from int64, live <-chan message, err error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	m := &member{in: make(chan message), left: ctx}
	if from, ok := h.add(m, nil); ok {
		return from, m.in, nil
	}
	watching, end := context.WithCancel(context.Background()) // it outlives the stream that begins it
	abort := context.AfterFunc(ctx, end)
	from, changes, err := src.Watch(watching, 0)
	if !abort() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end()
		return 0, nil, err
	}
	s := &shared{end: end, members: map[*member]struct{}{}, reached: from}
	h.add(m, s)
	h.tasks.Go(func() { h.pass(s, changes, convert) })
	return from, m.in, nil
}

// add adds a stream to the shared watch, or to fresh if there is none. It returns the revision after which the stream gets all
// changes. ok is false if there is no watch. The stream leaves the watch when its context ends. The last stream ends the watch.
func (h *hub) add(m *member, fresh *shared) (reached int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared == nil {
		h.shared = fresh
	}
	s := h.shared
	if s == nil {
		return 0, false
	}
	s.members[m] = struct{}{}
	context.AfterFunc(m.left, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(s.members, m); len(s.members) > 0 {
			return
		}
		s.end()
		if h.shared == s {
			h.shared = nil
		}
	})
	return s.reached, true
}

// pass passes the changes to all members until the watch ends.
func (h *hub) pass(s *shared, changes <-chan []job.Change, convert func([]job.Change) []api.Event) {
	defer s.end()
	for batch := range changes {
		msg := message{batch[0].Rev, convert(batch)}
		for _, m := range h.membersAt(s, msg.rev) {
			select {
			case m.in <- msg: // at once: streams always read
			case <-m.left.Done():
			}
		}
	}
	h.mu.Lock()
	if h.shared == s {
		h.shared = nil
	}
	h.mu.Unlock()
	for _, m := range h.membersAt(s, 0) { // those that have left do not read in any more
		close(m.in)
	}
}

// membersAt returns the members of a watch that get the changes of a revision. Later members get later changes.
func (h *hub) membersAt(s *shared, rev int64) []*member {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.reached = max(s.reached, rev)
	list := make([]*member, 0, len(s.members))
	for m := range s.members {
		list = append(list, m)
	}
	return list
}
