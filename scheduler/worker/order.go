package worker

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// order is what a shift remembers of a job.Order.
type order struct {
	left   int       // runs that are neither claimed nor refused
	closed time.Time // when it was removed from the queue
}

const (
	// orderMemory is for how long a closed order is recognized: a list of the queue that was read before may yet
	// deliver it.
	orderMemory = time.Minute
	// closers is how many orders are removed at a time. The store gathers them into few transactions.
	closers = 32
)

// takeOrders listens for orders as long as the shift lasts.
func (s *shift) takeOrders() {
	pauses := newPauses()
	for s.ctx.Err() == nil {
		err := s.w.store.Orders(s.ctx, s.w.cfg.Name, s.deliver)
		if s.ctx.Err() != nil {
			return
		}
		s.w.log.Warn("orders are not being received", "err", err)
		_ = pause(s.ctx, pauses.NextBackOff())
	}
}

// deliver takes an order in. The same order may come twice.
func (s *shift) deliver(o job.Order) {
	now := s.w.now()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	known := s.orders[o.ID]
	if known != nil {
		if !known.closed.IsZero() { // it is there again: its transaction was applied twice, or a hand put it there
			*known = order{left: 1}
			s.settle(o.ID)
		}
		return
	}
	known = &order{left: 1} // the order itself, until all of it is taken in
	s.orders[o.ID] = known
	for _, name := range o.Stop {
		s.stop(name, o.Rev)
	}
	// What was handed to an earlier session of ours is no longer ours: the leader takes it back.
	if o.Session == s.session.ID() {
		known.left += len(o.Runs)
		for i := range o.Runs {
			g := given{run: o.Runs[i], received: now}
			if len(o.JobRevs) == len(o.Runs) {
				g.jobRev = o.JobRevs[i]
			}
			s.take(g, o.ID)
		}
	}
	s.settle(o.ID)
}

// take holds a run. w.mu is held.
func (s *shift) take(g given, order string) {
	name := g.run.Name()
	h := s.holds[name]
	if h == nil {
		h = &hold{given: g}
		s.holds[name] = h
		s.gather(h)
		s.holding.add(1)
		s.wg.Add(1)
		s.w.table.start(func() { s.attend(h) })
	} else if g.run.Rev > h.run.Rev { // given to us anew before we began
		h.given = g
		h.wake(errRearmed)
	}
	h.orders = append(h.orders, order)
}

// settle notes that one more run of an order is claimed or refused. w.mu is held.
func (s *shift) settle(id string) {
	o := s.orders[id]
	o.left--
	if o.left > 0 {
		return
	}
	s.closing = append(s.closing, id)
	select {
	case s.settled <- struct{}{}:
	default:
	}
}

// closeOrders removes settled orders from the queue as long as the shift lasts.
func (s *shift) closeOrders() {
	swept := s.w.now()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.settled:
		}
		if s.over() { // another incarnation may own the queue
			return
		}
		if !s.closeSettled(s.ctx) {
			_ = pause(s.ctx, time.Second)
		}
		if now := s.w.now(); now.Sub(swept) > orderMemory {
			s.forgetOrders(now)
			swept = now
		}
	}
}

// closeSettled removes what is settled, and says whether all of it is gone. What is not stays for the next time.
func (s *shift) closeSettled(ctx context.Context) bool {
	s.w.mu.Lock()
	ids := s.closing
	s.closing = nil
	s.w.mu.Unlock()

	next := make(chan string)
	var wg sync.WaitGroup
	for range min(closers, len(ids)) {
		wg.Go(func() {
			for id := range next {
				s.closed(id, s.w.store.CloseOrder(ctx, s.w.cfg.Name, id))
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	wg.Wait()

	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return len(s.closing) == 0
}

// closed notes what became of the removal of an order.
func (s *shift) closed(id string, err error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if err == nil {
		s.orders[id].closed = s.w.now()
		return
	}
	s.w.log.Debug("order is not closed yet", "order", id, "err", err)
	s.orders[id].left = 1
	s.settle(id)
}

// forgetOrders drops the memory of orders that cannot be delivered again.
func (s *shift) forgetOrders(now time.Time) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for id, o := range s.orders {
		if !o.closed.IsZero() && now.Sub(o.closed) > orderMemory {
			delete(s.orders, id)
		}
	}
}
