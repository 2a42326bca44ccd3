package worker

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// order is the state that a shift keeps of a job.Order.
type order struct {
	unresolved int       // runs that are neither claimed nor handed back
	closed     time.Time // when it was removed from the queue; zero: it is still there
	again      bool      // it was delivered while it was being removed, so it may be in the queue after that
}

const (
	// orderMemory is how long a shift remembers a closed order. During this time, a list of the queue that was read earlier may
	// deliver it again.
	orderMemory = time.Minute
	// closers is how many orders are closed at a time. The store gathers them into few transactions.
	closers = 32
)

// receiveOrders receives orders as long as the shift lasts.
func (s *shift) receiveOrders() {
	delays := newBackoff()
	for s.ctx.Err() == nil {
		err := s.w.store.Orders(s.ctx, s.w.cfg.Name, s.receive)
		if s.ctx.Err() != nil {
			return
		}
		s.w.log.Warn("orders are not being received", "err", err)
		_ = sleep(s.ctx, delays.NextBackOff())
	}
}

// receive takes in an order, which may be delivered twice.
func (s *shift) receive(o job.Order) {
	for _, r := range s.enter(&o) {
		r.prepareClaim()
	}
}

// enter records an order, and returns the runs in it that were not armed before.
func (s *shift) enter(o *job.Order) (fresh []*armedRun) {
	now := s.w.now()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil
	}
	if known := s.orders[o.ID]; known != nil {
		// A closed order is in the queue again if its transaction was applied twice, or if somebody put it there.
		if known.again = known.unresolved == 0; !known.closed.IsZero() {
			*known = order{unresolved: 1}
			s.resolve(o.ID)
		}
		return nil
	}
	entry := &order{unresolved: 1} // counts the order itself until receive has taken in all its runs
	s.orders[o.ID] = entry
	for _, name := range o.Stop {
		s.requestStop(name, o.Rev)
	}
	// The leader takes back runs that it assigned to an earlier session of this worker.
	if o.Session == s.session.ID() {
		entry.unresolved += len(o.Runs)
		for i := range o.Runs {
			a := assignment{run: o.Runs[i], received: now}
			if len(o.JobRevs) == len(o.Runs) {
				a.jobRev = o.JobRevs[i]
			}
			if r := s.assign(a, o.ID); r != nil {
				fresh = append(fresh, r)
			}
		}
	}
	s.resolve(o.ID)
	return fresh
}

// assign adds a run to the armed runs of the shift, and returns it if it was not armed before; otherwise nil. The caller then
// calls its prepareClaim, without Worker.mu, which is held here.
func (s *shift) assign(a assignment, orderID string) (fresh *armedRun) {
	name := a.run.Name()
	r := s.armed[name]
	if r == nil {
		r = &armedRun{shift: s, name: name, latest: a}
		s.armed[name] = r
		s.countDue(r)
		s.unclaimed.add(1)
		s.wg.Add(1)
		fresh = r
	} else if a.run.Rev > r.latest.run.Rev {
		r.latest = a
		r.interruptWait(errReassigned)
	}
	r.orders = append(r.orders, orderID)
	return fresh
}

// resolve counts one more run of an order as claimed or handed back. Worker.mu is held.
func (s *shift) resolve(id string) {
	o := s.orders[id]
	o.unresolved--
	if o.unresolved > 0 {
		return
	}
	s.toClose = append(s.toClose, id)
	wake(s.closeSoon)
}

// closeOrders removes resolved orders from the queue as long as the shift lasts.
func (s *shift) closeOrders() {
	swept := s.w.now()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.closeSoon:
		}
		if s.over() { // another session may own the queue
			return
		}
		if !s.closeResolved(s.ctx) {
			_ = sleep(s.ctx, time.Second)
		}
		if now := s.w.now(); now.Sub(swept) > orderMemory {
			s.forgetOrders(now)
			swept = now
		}
	}
}

// closeResolved removes the resolved orders from the queue. It returns false if it has left some of them for the next call.
func (s *shift) closeResolved(ctx context.Context) bool {
	s.w.mu.Lock()
	ids := s.toClose
	s.toClose = nil
	s.w.mu.Unlock()

	next := make(chan string)
	var wg sync.WaitGroup
	for range min(closers, len(ids)) {
		wg.Go(func() {
			for id := range next {
				s.closeOrder(ctx, id)
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
	return len(s.toClose) == 0
}

// closeOrder removes one order from the queue, or leaves it for the next call of closeResolved.
func (s *shift) closeOrder(ctx context.Context, id string) {
	err := s.w.store.CloseOrder(ctx, s.w.cfg.Name, id)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	o := s.orders[id]
	if err == nil && !o.again {
		o.closed = s.w.now()
		return
	}
	if err != nil {
		s.w.log.Debug("order is not closed yet", "order", id, "err", err)
	}
	o.unresolved, o.again = 1, false
	s.resolve(id)
}

// forgetOrders forgets the closed orders that cannot be delivered again.
func (s *shift) forgetOrders(now time.Time) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for id, o := range s.orders {
		if !o.closed.IsZero() && now.Sub(o.closed) > orderMemory {
			delete(s.orders, id)
		}
	}
}
