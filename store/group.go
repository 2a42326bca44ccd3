package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxFlights is how many requests of a group are under way at a time.
const maxFlights = 3

// yieldEvery says which requests take the other writes first: every so many.
const yieldEvery = 4

// group commits writes: those that are ready together go in one transaction. A write that comes while fewer than
// maxFlights requests are under way leaves at once; under load, writes gather while they wait for a flight. Then urgent
// ones go before others, which have a quarter of the requests at least.
type group struct {
	store   *Store
	ctx     context.Context // ends the group: what is not answered then has an unknown outcome
	term    *election.Term  // every request compares it; nil for writes that carry their own entitlement
	count   *counters
	running *running

	mu      sync.Mutex
	urgent  []*write            // guarded by mu: in the order of their coming, at most one of each lane in both queues
	queue   []*write            // guarded by mu: those that are not urgent, likewise
	behind  map[string][]*write // guarded by mu: for each lane that is in a queue, the writes after that one
	flights int                 // guarded by mu
	taken   int                 // guarded by mu: requests so far
}

func (s *Store) newGroup(ctx context.Context, term *election.Term) *group {
	return &group{
		store: s, ctx: ctx, term: term, count: &s.count, running: &s.running,
		behind: make(map[string][]*write),
	}
}

// enqueue takes writes over. Each one's done is called exactly once.
func (g *group) enqueue(ws ...*write) {
	g.mu.Lock()
	for _, w := range ws {
		g.pushLocked(w)
	}
	var left []*batch // of a store that is closed
	for g.flights < maxFlights && len(g.urgent)+len(g.queue) > 0 {
		b := g.takeLocked()
		if g.running.start(func() { g.fly(b) }) {
			g.flights++
		} else {
			left = append(left, b)
		}
	}
	g.mu.Unlock()
	for _, b := range left {
		g.finish(b, func(int, *write) *written { return &written{err: fmt.Errorf("store is closed: %w", context.Canceled)} })
	}
}

// do is enqueue for one write, waiting for its end. When ctx ends first, a write that has been sent may still take place.
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
	queues := []*[]*write{&g.urgent, &g.queue}
	if g.taken++; g.taken%yieldEvery == 0 {
		slices.Reverse(queues)
	}
	var next []*write
	for _, q := range queues {
		for len(*q) > 0 && b.add((*q)[0]) {
			w := (*q)[0]
			(*q)[0] = nil
			*q = (*q)[1:]
			if w = g.nextLocked(w); w != nil {
				next = append(next, w)
			}
		}
	}
	for _, w := range next {
		q := g.queueOf(w)
		*q = append(*q, w)
	}
	return b
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

// fly sends b and then whatever has gathered meanwhile.
func (g *group) fly(b *batch) {
	for len(b.writes) > 0 {
		g.send(b)
		g.mu.Lock()
		b = g.takeLocked()
		if len(b.writes) == 0 {
			g.flights--
		}
		g.mu.Unlock()
	}
}

// send commits b in one transaction and tells every write what became of it.
func (g *group) send(b *batch) {
	resp, err := g.commit(b)
	switch {
	case isCode(err, rpctypes.ErrNoSpace):
		g.full(b)
	case err != nil && len(b.writes) > 1 && g.ctx.Err() == nil: // one of them is to blame
		for _, w := range b.writes {
			alone := &batch{}
			alone.add(w)
			g.send(alone)
		}
	case err != nil:
		g.finish(b, func(int, *write) *written { return &written{err: err} })
	case !resp.Succeeded:
		g.count.fenced.Add(int64(len(b.writes)))
		g.finish(b, func(int, *write) *written { return &written{err: election.ErrTermLost} })
	default:
		g.settle(b, resp)
	}
}

// settle tells the writes of a batch what etcd answered to each. Those that it refused are told what is there instead.
func (g *group) settle(b *batch, resp *pb.TxnResponse) {
	refused := &batch{}
	for i, w := range b.writes {
		if resp.Responses[i].GetResponseTxn().GetSucceeded() {
			g.end(w, &written{rev: resp.Header.Revision})
		} else {
			refused.writes = append(refused.writes, w)
		}
	}
	g.finish(refused, func(_ int, w *write) *written {
		out, err := g.look(w)
		switch {
		case err == nil:
			return out
		case w.open:
			return &written{err: fmt.Errorf("outcome unknown: %w", err)}
		}
		return &written{err: job.ErrConflict}
	})
}

func (g *group) commit(b *batch) (resp *pb.TxnResponse, err error) {
	then, err := b.ops()
	if err != nil {
		return nil, err
	}
	var held []*pb.Compare
	if g.term != nil {
		is := g.term.Held()
		held = append(held, is.GetCompare())
	}
	err = untilDefinite(g.ctx, b.open(), &g.store.hurry, func(ctx context.Context) (err error) {
		g.count.transactions.Add(1)
		resp, err = g.store.txn(ctx, held, then)
		if err == nil {
			g.count.reach(resp.Header.Revision)
		}
		return err
	}, b.unanswered)
	return resp, err
}

// full ends a batch that etcd refused for want of space. What only deletes is still taken, if it comes without puts.
func (g *group) full(b *batch) {
	puts, deletes := &batch{}, &batch{}
	for _, w := range b.writes {
		if w.deletesOnly() {
			deletes.add(w)
		} else {
			puts.add(w)
		}
	}
	if len(puts.writes) == 0 { // etcd does take it, by all we know
		g.finish(b, func(int, *write) *written { return &written{err: job.ErrFull} })
		return
	}
	g.finish(puts, func(_ int, w *write) *written { return g.lookWhenFull(w) })
	if len(deletes.writes) > 0 {
		g.send(deletes)
	}
}

// lookWhenFull looks whether a write that was refused for want of space took place all the same: the one that raises the
// alarm may be applied before it is refused. If there was an earlier sending without an answer, looking does not settle
// that one.
func (g *group) lookWhenFull(w *write) *written {
	full := job.ErrFull
	if w.open {
		full = fmt.Errorf("outcome unknown: %w", job.ErrFull)
	}
	out, err := g.look(w)
	if err != nil {
		return &written{err: fmt.Errorf("outcome unknown: %w", job.ErrFull)}
	}
	if out.err != nil {
		out.err = full
	}
	return out
}

// look reads what is at the keys of a write that was refused, and recognises an earlier sending of it there.
func (g *group) look(w *write) (*written, error) {
	gets := make([]*pb.RequestOp, len(w.probe))
	for i, key := range w.probe {
		gets[i] = getOp(key)
	}
	var resp *pb.TxnResponse
	err := untilDefinite(g.ctx, false, &g.store.hurry, func(ctx context.Context) (err error) {
		resp, err = g.store.txn(ctx, nil, gets)
		return err
	}, func() {})
	if err != nil {
		return nil, err
	}
	return w.found(resp.Responses, resp.Header.Revision), nil
}

func (g *group) finish(b *batch, outcome func(int, *write) *written) {
	for i, w := range b.writes {
		g.end(w, outcome(i, w))
	}
}

// end tells a write what became of it.
func (g *group) end(w *write, out *written) {
	switch {
	case out.err == nil:
		g.count.writes.Add(1)
		g.count.puts.Add(int64(len(w.then)))
		g.count.bytes.Add(int64(w.bytes))
	case out.err == job.ErrConflict:
		g.count.conflicts.Add(1)
	}
	w.done(out)
}
