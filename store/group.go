package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// maxFlights is how many requests of a group are under way at a time.
const maxFlights = 3

// How far apart requests that are not full leave, on average, and how many of them may leave at once. Under load, a
// request costs more than all that is in it, and a disk may be fast enough to take one for each write. What a leader decides
// is ahead of its time, as a rule.
const (
	pace     = 2 * time.Millisecond // from one to the next
	leadPace = 5 * time.Millisecond
	burst    = 8
)

// yieldEvery says which requests take the other writes first: every so many.
const yieldEvery = 4

// group commits writes: those that are ready together go in one transaction. A write that comes while fewer than
// maxFlights requests are under way leaves at once, unless many have just left; under load, writes gather while they wait
// for a flight. Then urgent ones go before others, which have a quarter of the requests at least.
type group struct {
	store   *Store
	ctx     context.Context // ends the group: what is not answered then has an unknown outcome
	term    *election.Term  // every request compares it; nil for writes that carry their own entitlement
	count   *counters
	running *running
	pace    time.Duration // from one request to the next that is not full

	mu      sync.Mutex
	urgent  []*write            // guarded by mu: in the order of their coming, at most one of each lane in both queues
	queue   []*write            // guarded by mu: those that are not urgent, likewise
	behind  map[string][]*write // guarded by mu: for each lane that is in a queue, the writes after that one
	flights int                 // guarded by mu
	taken   int                 // guarded by mu: requests so far
	turn    time.Time           // guarded by mu: from when on one may leave that is not full
	pausing bool                // guarded by mu: one of the flights waits for that
}

func (s *Store) newGroup(ctx context.Context, term *election.Term) *group {
	g := &group{
		store: s, ctx: ctx, term: term, count: &s.count, running: &s.running, pace: pace,
		behind: make(map[string][]*write),
	}
	if term != nil {
		g.pace = leadPace
	}
	return g
}

// enqueue takes writes over. Each one's done is called exactly once.
func (g *group) enqueue(ws ...*write) {
	g.mu.Lock()
	for _, w := range ws {
		g.pushLocked(w)
	}
	var late []*batch // of a store that is closed
	for g.flights < maxFlights && g.readyLocked() > 0 {
		var b *batch // nil: to be taken when it is time
		if g.waitLocked() <= 0 {
			b = g.takeLocked()
		} else if g.pausing {
			break
		}
		if g.running.start(func() { g.fly(b) }) {
			g.flights++
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

// readyLocked is how many writes are ready to be sent, one of each lane.
func (g *group) readyLocked() int { return len(g.urgent) + len(g.queue) }

// waitLocked is how long it is until a request with what is ready may leave.
func (g *group) waitLocked() time.Duration {
	if g.readyLocked() >= maxWrites {
		return 0
	}
	return time.Until(g.turn)
}

// do is enqueue for one write, waiting for its end. When ctx ends first, a write that has been sent is not sent again, and may
// still take place.
func (g *group) do(ctx context.Context, w *write) (*written, error) {
	answer := make(chan *written, 1)
	w.done = func(out *written) { answer <- out }
	if ctx.Err() != nil {
		return &written{}, fmt.Errorf("not sent: %w", context.Cause(ctx))
	}
	g.enqueue(w)
	select {
	case out := <-answer:
		return out, out.err
	case <-ctx.Done():
		if g.withdraw(w) {
			return &written{}, fmt.Errorf("not sent: %w", context.Cause(ctx))
		}
		w.gone.Store(true)
		return &written{}, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
	}
}

func (g *group) pushLocked(w *write) {
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

// queueOf is the queue that w belongs to. g.mu is held.
func (g *group) queueOf(w *write) *[]*write {
	if w.urgent {
		return &g.urgent
	}
	return &g.queue
}

// nextLocked returns the write that follows w in its lane, if any, once w is out of the queue.
func (g *group) nextLocked(w *write) *write {
	waiting := g.behind[w.lane]
	if len(waiting) == 0 {
		delete(g.behind, w.lane)
		return nil
	}
	g.behind[w.lane] = waiting[1:]
	return waiting[0]
}

// takeLocked removes from the queues what fits into one request. Lanes take turns: the next write of one that is in
// goes to the end of its queue.
func (g *group) takeLocked() *batch {
	b := &batch{}
	if earliest := time.Now().Add(-burst * g.pace); g.turn.Before(earliest) {
		g.turn = earliest
	}
	if g.readyLocked() < maxWrites { // those of a full queue leave as fast as they can
		g.turn = g.turn.Add(g.pace)
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
	return b
}

// fillLocked moves writes from a queue into b, and returns what follows them in their lanes. What clashes with something in b
// keeps its place in the queue.
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

// withdraw removes w from the queue, and says whether it was there: then it has never been sent.
func (g *group) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.behind[w.lane], w); i >= 0 {
		g.behind[w.lane] = slices.Delete(g.behind[w.lane], i, i+1)
		return true
	}
	q := g.queueOf(w)
	i := slices.Index(*q, w)
	if i < 0 {
		return false
	}
	*q = slices.Delete(*q, i, i+1)
	if next := g.nextLocked(w); next != nil { // in the place of w, if it is as urgent
		q = g.queueOf(next)
		*q = slices.Insert(*q, min(i, len(*q)), next)
	}
	return true
}
