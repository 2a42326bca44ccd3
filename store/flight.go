package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// sendAll sends b, unless b is nil. Then it sends the writes that were queued meanwhile, until none is left.
func (g *group) sendAll(b *batch) {
	if b == nil {
		b = g.next()
	}
	for ; b != nil; b = g.next() {
		g.send(b)
	}
}

// next waits until the next request may leave, and returns its batch. It returns nil if nothing is left for this sender, which must
// then end.
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
		select {
		case <-time.After(wait):
		case <-g.hurry:
		}
		g.mu.Lock()
		g.pausing = false
	}
	g.inFlight--
	return nil
}

// send commits b in one transaction and passes every write its result.
func (g *group) send(b *batch) {
	resp, err := g.commit(b)
	switch {
	case isCode(err, rpctypes.ErrNoSpace):
		g.full(b)
	case err != nil && len(b.writes) > 1 && g.ctx.Err() == nil: // one of the writes caused the error
		for _, w := range b.writes {
			alone := &batch{}
			alone.add(w)
			g.send(alone)
		}
	case err != nil:
		g.finish(b, func(int, *write) *written { return &written{err: err} })
	case !resp.Succeeded && g.reigns(resp): // the gate has changed
		b.apart = true
		g.send(b)
	case !resp.Succeeded:
		g.count.fenced.Add(int64(len(b.writes)))
		g.finish(b, func(int, *write) *written { return &written{err: election.ErrTermLost} })
	default:
		g.complete(b, resp)
	}
}

// complete passes each write of a batch what etcd answered to it. A refused write gets the records that exist instead,
// or the reason why they cannot be read.
func (g *group) complete(b *batch, resp *pb.TxnResponse) {
	refused := &batch{}
	for i, w := range b.writes {
		if resp.Responses[i].GetResponseTxn().GetSucceeded() {
			w.room.out.rev = resp.Header.Revision
			g.end(w, &w.room.out)
		} else {
			refused.writes = append(refused.writes, w)
		}
	}
	g.finish(refused, func(_ int, w *write) *written {
		out, err := g.readProbes(w)
		switch {
		case err == nil:
			return out
		case w.open:
			return &written{err: fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, err)}
		}
		// Do not return job.ErrConflict: without records, it means that the records do not exist.
		return &written{err: fmt.Errorf("refused, and the present records are unknown: %w", err)}
	})
}

// commit sends b until the answer is definite. It removes writes whose callers give up meanwhile.
func (g *group) commit(b *batch) (resp *pb.TxnResponse, err error) {
	then, err := b.ops()
	if err != nil {
		return nil, err
	}
	fence, refused := g.fence(b)
	err = untilDefinite(g.ctx, b.open(), &g.store.tries, func(ctx context.Context) (err error) {
		if gone := b.removeAbandoned(); len(gone) > 0 {
			for _, w := range gone {
				g.end(w, &written{err: errAbandoned})
			}
			if then, err = b.ops(); err != nil || len(b.writes) == 0 {
				return errAbandoned
			}
			fence, refused = g.fence(b)
		}
		g.count.transactions.Add(1)
		resp, err = g.store.txnElse(ctx, fence, then, refused)
		return err
	}, b.unanswered)
	return resp, err
}

// fence returns the guards of the whole request, and what a refusal reads: the key of the term, if the guard of the gate may be
// the one that failed.
func (g *group) fence(b *batch) (fence []*pb.Compare, refused []*pb.RequestOp) {
	if g.term != nil {
		is := g.term.Held()
		fence = append(fence, is.GetCompare())
	}
	if gate, shared := b.sharedGate(); shared {
		fence = append(fence, gate.compare())
		refused = append(refused, getOp(g.term.Key))
	}
	return fence, refused
}

// reigns reports whether the answer to a refused request shows that the term was not over. Then the gate has changed, and each
// write must compare it by itself.
func (g *group) reigns(resp *pb.TxnResponse) bool {
	if len(resp.Responses) == 0 {
		return false
	}
	kvs := resp.Responses[0].GetResponseRange().GetKvs()
	return len(kvs) == 1 && kvs[0].CreateRevision == g.term.Rev
}

// full ends a batch that etcd refused for lack of space. It sends the deletions again without their tombstones and audit records,
// because etcd still accepts those if they come without puts.
func (g *group) full(b *batch) {
	puts, deletes, stripped := &batch{}, &batch{}, 0
	for _, w := range b.writes {
		switch {
		case !w.deletesOnly():
			puts.add(w)
			continue
		case w.stripPuts():
			stripped++
		}
		deletes.add(w)
	}
	if len(puts.writes)+stripped == 0 { // etcd should have accepted these deletions
		g.finish(b, func(int, *write) *written { return &written{err: job.ErrFull} })
		return
	}
	g.finish(puts, func(_ int, w *write) *written { return g.readWhenFull(w) })
	if len(deletes.writes) > 0 {
		g.send(deletes)
	}
}

// readWhenFull returns the result of a write that etcd refused for lack of space. The write may have taken place: etcd
// may apply the write that raises the alarm, and refuse it afterwards. An earlier unanswered sending keeps the outcome
// unknown.
func (g *group) readWhenFull(w *write) *written {
	full := job.ErrFull
	if w.open {
		full = fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, job.ErrFull)
	}
	out, err := g.readProbes(w)
	if err != nil {
		return &written{err: fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, job.ErrFull)}
	}
	if out.err != nil {
		out.err = full
	}
	return out
}

// readProbes reads the probed records of a refused write, and recognises an earlier sending of it there.
func (g *group) readProbes(w *write) (*written, error) {
	gets := make([]*pb.RequestOp, len(w.probe))
	for i, key := range w.probe {
		gets[i] = getOp(key)
	}
	var resp *pb.TxnResponse
	err := untilDefinite(g.ctx, false, &g.store.tries, func(ctx context.Context) (err error) {
		resp, err = g.store.txn(ctx, nil, gets)
		return err
	}, func() {})
	if err != nil {
		return nil, err
	}
	return w.conflict(resp.Responses, resp.Header.Revision), nil
}

func (g *group) finish(b *batch, outcome func(int, *write) *written) {
	for i, w := range b.writes {
		g.end(w, outcome(i, w))
	}
}

// end passes a write its result.
func (g *group) end(w *write, out *written) {
	switch {
	case out.err == nil:
		g.count.writes.Add(1)
		g.count.puts.Add(int64(len(w.ops())))
		g.count.bytes.Add(int64(w.bytes))
	case errors.Is(out.err, job.ErrConflict):
		g.count.conflicts.Add(1)
	}
	if w.done == nil {
		w.answer <- out
		return
	}
	w.done(w, out)
}
