package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxInFlight is how many requests of a group are under way at a time.
const maxInFlight = 3

// Each request whose number is a multiple of yieldEvery takes the writes that are not urgent first.
const yieldEvery = 4

// group commits writes together: writes that are ready at the same time share a transaction. While fewer than maxInFlight
// requests are under way, a write is sent at once, unless many were sent just before. Under load, writes wait until a request
// returns. Then urgent writes are sent first, but one request in yieldEvery takes the other writes first.
type group struct {
	store   *Store
	ctx     context.Context // ends the group: unanswered writes then have an unknown outcome
	term    *election.Term  // every request compares it; nil for writes that have their own guards
	count   *counters
	running *running

	channels sync.Pool // of channels for write.answer that are empty and get no result any more

	mu       sync.Mutex
	urgent   []*write            // guarded by mu: in order of arrival; both queues together have at most one write of each lane
	queue    []*write            // guarded by mu: the writes that are not urgent, in order of arrival
	behind   map[string][]*write // guarded by mu: for each lane in a queue, the writes that follow
	inFlight int                 // guarded by mu: senders that are running
	taken    int                 // guarded by mu: requests so far
	awaited  int                 // guarded by mu: writes in the queues, and behind them, that a client waits for
	eager    int                 // guarded by mu: writes there that are not patient
	turn     time.Time           // guarded by mu: earliest time of the next request that is not full and has no awaited write
	patience time.Time           // guarded by mu: earliest time of the next such request that has only patient writes
	pausing  bool                // guarded by mu: a sender waits for turn

	hurry chan struct{} // holds a token when the sender that waits for turn must not wait any longer
}

func (s *Store) newGroup(ctx context.Context, term *election.Term) *group {
	return &group{
		store: s, ctx: ctx, term: term, count: &s.count, running: &s.running, behind: make(map[string][]*write),
		hurry: make(chan struct{}, 1),
	}
}

// enqueue takes over writes. It calls the done of each exactly once.
func (g *group) enqueue(ws ...*write) {
	g.mu.Lock()
	patient := g.eager == 0
	for _, w := range ws {
		g.pushLocked(w)
	}
	if g.pausing && (g.hurriesLocked() || patient && g.eager > 0) {
		select {
		case g.hurry <- struct{}{}:
		default:
		}
	}
	var late []*batch // batches that cannot be sent, because the store is closed
	for g.inFlight < maxInFlight && g.readyLocked() > 0 {
		var b *batch // nil: the sender takes one when its turn comes
		if g.waitLocked() <= 0 {
			b = g.takeLocked()
		} else if g.pausing {
			break
		}
		if g.running.start(func() { g.sendAll(b) }) {
			g.inFlight++
			if b == nil {
				break
			}
			continue
		}
		if b == nil {
			b = g.takeLocked()
		}
		late = append(late, b)
	}
	g.mu.Unlock()
	for _, b := range late {
		g.finish(b, func(int, *write) *written { return &written{err: fmt.Errorf("store is closed: %w", context.Canceled)} })
	}
}

// readyLocked returns how many writes are ready to be sent, one of each lane.
func (g *group) readyLocked() int { return len(g.urgent) + len(g.queue) }

// do enqueues one write and waits for its result. If ctx ends first, a write that was sent is not sent again, but may
// still take place.
func (g *group) do(ctx context.Context, w *write) (*written, error) {
	if ctx.Err() != nil {
		return &written{}, fmt.Errorf("not sent: %w", context.Cause(ctx))
	}
	if err := g.store.addAudit(ctx, w); err != nil {
		return &written{}, fmt.Errorf("not sent: %w", err)
	}
	w.awaited = ofClient(ctx)
	if w.answer, _ = g.channels.Get().(chan *written); w.answer == nil {
		w.answer = make(chan *written, 1)
	}
	g.enqueue(w)
	select {
	case out := <-w.answer:
		g.channels.Put(w.answer)
		if out.err == nil {
			auditDone(ctx)
		}
		return out, out.err
	case <-ctx.Done():
		if g.withdraw(w) {
			return &written{}, fmt.Errorf("not sent: %w", context.Cause(ctx))
		}
		w.abandoned.Store(true)
		return &written{}, fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

func (g *group) pushLocked(w *write) {
	g.countLocked(w, 1)
	if w.lane != "" {
		waiting, busy := g.behind[w.lane]
		if busy {
			g.behind[w.lane] = append(waiting, w)
			return
		}
		g.behind[w.lane] = nil
	}
	q := g.queueOf(w)
	*q = append(*q, w)
}

// queueOf returns the queue that w belongs to. g.mu is held.
func (g *group) queueOf(w *write) *[]*write {
	if w.urgent {
		return &g.urgent
	}
	return &g.queue
}

// nextLocked returns the write that follows w in its lane, after w left the queue; nil if there is none.
func (g *group) nextLocked(w *write) *write {
	waiting := g.behind[w.lane]
	if len(waiting) == 0 {
		delete(g.behind, w.lane)
		return nil
	}
	g.behind[w.lane] = waiting[1:]
	return waiting[0]
}

// takeLocked removes from the queues what fits into one request. Lanes take turns: the next write of a lane goes to the
// end of its queue.
func (g *group) takeLocked() *batch {
	b, now := &batch{}, time.Now()
	g.turn, g.patience = job.Later(g.turn, now.Add(-burst*pace)), now.Add(gather)
	if !g.hurriesLocked() {
		g.turn = g.turn.Add(pace)
	}
	queues := []*[]*write{&g.urgent, &g.queue}
	if g.taken++; g.taken%yieldEvery == 0 {
		slices.Reverse(queues)
	}
	var next []*write
	for _, q := range queues {
		next = append(next, g.fillLocked(b, q)...)
	}
	for _, w := range next {
		q := g.queueOf(w)
		*q = append(*q, w)
	}
	for _, w := range b.writes {
		g.countLocked(w, -1)
	}
	return b
}

// countLocked adds n to the awaited writes if w is one of them, and to the eager writes if w is not patient.
func (g *group) countLocked(w *write, n int) {
	if w.awaited {
		g.awaited += n
	}
	if !w.patient {
		g.eager += n
	}
}

// fillLocked moves writes from a queue into b, and returns the writes that follow them in their lanes. Writes that
// clash with b keep their place in the queue.
func (g *group) fillLocked(b *batch, queue *[]*write) (next []*write) {
	var left []*write
	for len(*queue) > 0 {
		w := (*queue)[0]
		clashes := b.clashes(w)
		if !clashes && !b.add(w) {
			break
		}
		(*queue)[0] = nil
		*queue = (*queue)[1:]
		if clashes {
			left = append(left, w)
		} else if w = g.nextLocked(w); w != nil {
			next = append(next, w)
		}
	}
	if len(left) > 0 {
		*queue = append(left, *queue...)
	}
	return next
}

// withdraw removes w from the queue and returns true. It returns false if w was not there: then w may have been sent.
func (g *group) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.behind[w.lane], w); i >= 0 {
		g.behind[w.lane] = slices.Delete(g.behind[w.lane], i, i+1)
		g.countLocked(w, -1)
		return true
	}
	q := g.queueOf(w)
	i := slices.Index(*q, w)
	if i < 0 {
		return false
	}
	*q = slices.Delete(*q, i, i+1)
	g.countLocked(w, -1)
	if next := g.nextLocked(w); next != nil { // at the place of w, if it is as urgent
		q = g.queueOf(next)
		*q = slices.Insert(*q, min(i, len(*q)), next)
	}
	return true
}
