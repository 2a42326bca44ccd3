package store

import (
	"context"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// fly sends b, if it is not nil, and then whatever has gathered meanwhile.
func (g *group) fly(b *batch) {
	if b == nil {
		b = g.next()
	}
	for ; b != nil; b = g.next() {
		g.send(b)
	}
}

// next returns what the next request of a flight holds, once it may leave: nil if nothing is left for this flight, which is
// over then.
func (g *group) next() *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.readyLocked() > 0 {
		wait := g.waitLocked()
		if wait <= 0 {
			return g.takeLocked()
		}
		if g.pausing {
			break
		}
		g.pausing = true
		g.mu.Unlock()
		time.Sleep(wait)
		g.mu.Lock()
		g.pausing = false
	}
	g.flights--
	return nil
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

// settle tells the writes of a batch what etcd answered to each. Those that it refused are told what is there instead, or
// why that cannot be read.
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
		// No job.ErrConflict: that with nothing there would say that the records are gone.
		return &written{err: fmt.Errorf("refused, and what is there is unknown: %w", err)}
	})
}

// commit sends b until the answer is definite. Writes whose callers give up meanwhile leave it.
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
		if gone := b.leave(); len(gone) > 0 {
			for _, w := range gone {
				g.end(w, &written{err: errGone})
			}
			if then, err = b.ops(); err != nil || len(b.writes) == 0 {
				return errGone
			}
		}
		g.count.transactions.Add(1)
		resp, err = g.store.txn(ctx, held, then)
		return err
	}, b.unanswered)
	return resp, err
}

// full ends a batch that etcd refused for want of space. What only deletes is still taken, if it comes without puts, and without
// tombstones.
func (g *group) full(b *batch) {
	puts, deletes, stones := &batch{}, &batch{}, 0
	for _, w := range b.writes {
		switch {
		case !w.deletesOnly():
			puts.add(w)
			continue
		case w.stone != "" && !w.bare:
			w.strip()
			stones++
		}
		deletes.add(w)
	}
	if len(puts.writes)+stones == 0 { // etcd does take it, by all we know
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
