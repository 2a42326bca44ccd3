package worker

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// shift is the worker's time under one session. What was handed to the worker and has not begun belongs to the shift.
type shift struct {
	w       *Worker
	session Session
	life    context.Context         // of the worker's attempts and outcomes
	ctx     context.Context         // ends with the session, for others or for real; its cause is executor.ErrFenced then
	cancel  context.CancelCauseFunc // of ctx
	wg      sync.WaitGroup          // everything that ends with ctx
	holding tally                   // runs that are held
	killed  tally                   // attempts of this shift that were killed when it ended, and have not ended yet
	settled chan struct{}           // holds a token while there is an order to close

	presenting chan struct{} // holds a token while the presence is changed

	// Guarded by w.mu.
	holds    map[string]*hold  // by run
	crowds   map[int64]int     // how many of them were given for one instant
	orders   map[string]*order // by id: those that are known, and for a while those that were closed
	closing  []string          // orders with nothing left to claim
	retiring bool              // what is held is handed back
	drains   bool              // as leaders see it, by the last change of the presence that was answered
	unsure   bool              // there was a later one, which was not or was refused
}

func newShift(w *Worker, session Session, life context.Context) *shift {
	ctx, cancel := context.WithCancelCause(life)
	return &shift{
		w: w, session: session, life: life, ctx: ctx, cancel: cancel,
		settled: make(chan struct{}, 1), presenting: make(chan struct{}, 1),
		drains: w.Refuses() != nil, // as the session was opened
		holds:  make(map[string]*hold),
		crowds: make(map[int64]int),
		orders: make(map[string]*order),
	}
}

// begin starts to take orders.
func (s *shift) begin() {
	s.wg.Go(s.guard)
	s.wg.Go(s.takeOrders)
	s.wg.Go(s.closeOrders)
	s.wg.Go(s.watchDisk)
}

// guard ends the shift as soon as others may think the session over, before they can act on it.
func (s *shift) guard() {
	for {
		left := s.session.Deadline().Sub(s.w.now())
		if left <= 0 {
			break
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(left): // by now the session has been renewed, as a rule
			continue
		case <-s.session.Done():
		}
		break
	}
	s.cancel(executor.ErrFenced)
	killed := s.kill()
	s.w.log.Warn("session is over", "session", s.session.ID(), "killed", killed)
}

// over says whether others may think the session over. Between the guard's timer and its call the process may have been
// stopped for hours, so whoever is about to begin something asks.
func (s *shift) over() bool {
	if s.ctx.Err() != nil || !s.w.now().Before(s.session.Deadline()) {
		return true
	}
	select {
	case <-s.session.Done():
		return true
	default:
		return false
	}
}

// kill ends the attempts of the shift that others may repeat, or that others rely on to have ended, and returns how
// many. An attempt that nobody repeats, of a job that may overlap with itself, goes on and reports what its token still
// allows.
func (s *shift) kill() (n int) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for a := range s.w.attempts {
		if a.shift == s && !a.outlives() {
			a.kill()
			n++
		}
	}
	return n
}

// retire hands back what is held, says to leaders that nothing more is taken, and goes on listening for requests to
// stop what executes.
func (s *shift) retire() {
	s.w.mu.Lock()
	s.retiring = true
	for _, h := range s.holds {
		h.wake(errRetiring)
	}
	s.w.mu.Unlock()
	s.wg.Go(s.present)
}

// end ends the shift. It waits for what it killed, and for outcomes unless ctx ends, within bounds: once the session is
// closed, or another one is opened, others repeat those attempts.
func (s *shift) end(ctx context.Context) {
	s.cancel(executor.ErrStopping)
	s.wg.Wait()
	if !fenced(context.Cause(s.ctx)) {
		closing, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTimeout)
		s.closeSettled(closing)
		cancel()
	}
	if !wait(s.life, s.killed.empty(), executor.HurryGrace+s.w.cfg.StopTimeout) {
		s.w.log.Error("killed attempts have not ended", "executing", s.killed.count())
	}
	wait(ctx, s.w.unsent.empty(), s.w.cfg.SettleTimeout)
	closing, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTimeout)
	defer cancel()
	if err := s.session.Close(closing); err != nil {
		s.w.log.Warn("session could not be closed and has to run out", "session", s.session.ID(), "err", err)
	}
}

// armed says whether the record r is an attempt that this session has been given and has not begun.
func (s *shift) armed(r *job.Run) bool {
	return r.State == job.Armed && r.Session == s.session.ID()
}
