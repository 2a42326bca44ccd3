package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// shift is the time of the worker under one session. Armed runs belong to the shift. Attempts and outcomes may last longer than
// the shift.
type shift struct {
	w         *Worker
	session   Session
	keeps     []string                // see job.Worker
	life      context.Context         // the context of the worker's attempts and outcomes.
	endless   context.Context         // life without its end.
	ctx       context.Context         // ends when others may think the session over, with executor.ErrFenced.
	cancel    context.CancelCauseFunc // cancels ctx
	wg        sync.WaitGroup          // the goroutines that end with ctx.
	unclaimed tally                   // armed runs
	killed    tally                   // attempts that were killed when the shift ended, and have not ended yet.
	backs     atomic.Int64            // how often the presence was put back
	closeSoon chan struct{}           // holds a token when there is an order to close

	publishing chan struct{} // holds a token while the presence is being published

	// Guarded by Worker.mu.
	armed             map[string]*armedRun // by the name of the run
	dueCounts         map[int64]int        // the number of armed runs that are due at one instant, by dueKey
	orders            map[string]*order    // by id; a closed order stays for orderMemory
	toClose           []string             // ids of resolved orders.
	draining          bool                 // armed runs are handed back
	shown             job.Worker           // the presence in the store, by the last answer of the store
	presenceUncertain bool                 // a later change of the presence has failed, or has no answer yet
}

// newShift returns the shift of a session. shown is the presence that opened the session.
func newShift(life context.Context, w *Worker, session Session, shown job.Worker) *shift {
	ctx, cancel := context.WithCancelCause(life)
	return &shift{
		w: w, session: session, keeps: shown.Keeps, life: life, endless: context.WithoutCancel(life), ctx: ctx, cancel: cancel,
		closeSoon: make(chan struct{}, 1), publishing: make(chan struct{}, 1), shown: shown,
		armed:     make(map[string]*armedRun),
		dueCounts: make(map[int64]int),
		orders:    make(map[string]*order),
	}
}

// start starts the goroutines of the shift.
func (s *shift) start() {
	s.wg.Go(s.watchSession)
	s.wg.Go(s.interruptAtEnd)
	s.wg.Go(s.receiveOrders)
	s.wg.Go(s.closeOrders)
	s.wg.Go(s.watchHealth)
	s.wg.Go(s.watchPressure)
}

// watchSession ends the shift as soon as others may think the session over, and before they can act on it.
func (s *shift) watchSession() {
	for {
		left := s.session.Deadline().Sub(s.w.now())
		if left <= 0 {
			break
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(left): // the session has usually been renewed by now
			continue
		case <-s.session.Back():
			s.confirmAll()
			continue
		case <-s.session.Done():
		}
		break
	}
	s.cancel(executor.ErrFenced)
	killed := s.kill()
	s.w.log.Warn("session is over", "session", s.session.ID(), "killed", killed)
}

// over reports whether others may think the session over. The process may have been suspended for hours after the last check by
// watchSession. So code that is about to start something must call over first.
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

// kill kills the attempts of the shift, except those that outlive their session, and returns how many it killed.
func (s *shift) kill() (n int) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for a := range s.w.attempts {
		if a.shift == s && !a.outlivesSession() {
			a.kill()
			n++
		}
	}
	return n
}

// interruptAtEnd ends the waits of all armed runs when the shift ends.
func (s *shift) interruptAtEnd() {
	<-s.ctx.Done()
	s.interruptAll(context.Cause(s.ctx))
}

// interruptAll ends the waits of all armed runs.
func (s *shift) interruptAll(cause error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, r := range s.armed {
		r.interruptWait(cause)
	}
}

// drain hands armed runs back and publishes that the worker accepts no more runs. The shift continues to receive stop requests.
func (s *shift) drain() {
	s.w.mu.Lock()
	s.draining = true
	s.w.mu.Unlock()
	s.interruptAll(errDraining)
	s.wg.Go(s.publishPresence)
}

// end ends the shift. It waits for a bounded time until the killed attempts have ended. It also waits for outcomes, unless ctx
// ends. After the session is closed, or another one is opened, other workers may repeat these attempts.
func (s *shift) end(ctx context.Context) {
	s.cancel(executor.ErrStopping)
	s.wg.Wait()
	if !fenced(context.Cause(s.ctx)) {
		closing, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTimeout)
		s.closeResolved(closing)
		cancel()
	}
	if !wait(s.life, s.killed.empty(), executor.HurryGrace+s.w.cfg.stopTimeout) {
		s.w.log.Error("killed attempts have not ended", "executing", s.killed.count())
	}
	wait(ctx, s.w.unsent.empty(), settleTimeout)
	closing, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTimeout)
	defer cancel()
	if err := s.session.Close(closing); err != nil {
		s.w.log.Warn("session could not be closed and has to expire", "session", s.session.ID(), "err", err)
	}
}

// assigned reports whether the record r is armed for this session.
func (s *shift) assigned(r *job.Run) bool {
	return r.State == job.Armed && r.Session == s.session.ID()
}

// ErrNameTaken is the error of Run when another process of the same name replaces the worker's presence again and again.
// Neither process would finish a long job, since each replacement ends the attempts of the other one.
var ErrNameTaken = errors.New("another process uses this name and replaces its presence again and again")

// A worker ends when its presence was replaced maxLosses times within lossWindow. A single replacement is normal: a process
// hung, and another one was started in its place. If two processes replace each other again and again, one of them reaches
// maxLosses first and ends, and the other one continues.
const (
	maxLosses  = 3
	lossWindow = 5 * time.Minute
)

// recentLosses holds the times at which the worker lost its presence to another process.
type recentLosses []time.Time

// add adds a loss, and reports whether the worker must end because of ErrNameTaken.
func (l *recentLosses) add(now time.Time) bool {
	*l = slices.DeleteFunc(*l, func(at time.Time) bool { return now.Sub(at) > lossWindow })
	*l = append(*l, now)
	return len(*l) >= maxLosses
}
