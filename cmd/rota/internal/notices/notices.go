package notices

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
	"github.com/rota-scheduler/rota/store"
)

// Config holds the parameters of Send.
type Config struct {
	Store    *store.Store
	Mirror   *store.Mirror
	Services *send.Services
	Observer send.Observer
	Now      func() time.Time
	Show     func([]job.Undelivered) // publishes the notifiers whose messages do not arrive
	Addr     string                  // the URL at which people reach the API of this replica; "" if only this machine can reach it
}

// sender sends notices for one term. It continues from the records of earlier leaders.
type sender struct {
	Config
	log    hclog.Logger
	term   election.Term
	book   *notify.Book // owned by the goroutine of run
	queues *send.Queues
	pings  *send.Queues
	rest   time.Time         // owned by run: no record is written before this time, because the store refused one
	shown  []job.Undelivered // owned by run: what Show last got

	mu      sync.Mutex
	settled []settled     // guarded by mu: notices that were sent or given up since the last look at book
	written []written     // guarded by mu: answers of the store since the last look at book
	ready   chan struct{} // holds a token if settled or written is not empty
}

// settled is a notice that was sent to one of its targets, or given up for it.
type settled struct {
	receipt *notify.Receipt
	target  string
}

// written is the store's answer to a record of notices.
type written struct {
	record job.NotifyState
	rev    int64
	err    error
}

// refusedPause is how long Send writes no record after the store refused one.
const refusedPause = time.Second

// Send sends notices until ctx ends. Before the call, the mirror must have the content that the store had when the term was won.
func Send(ctx context.Context, cfg Config, term election.Term, log hclog.Logger) {
	s := &sender{
		Config: cfg, log: log, term: term, ready: make(chan struct{}, 1),
	}
	s.queues = send.NewQueues(send.DefaultConfig(), cfg.Services, s, log.Named("notify"))
	s.pings = send.NewQueues(send.PingConfig(), cfg.Services, s, log.Named("ping"))
	s.run(ctx)
	s.queues.Wait()
	s.pings.Wait()
	cfg.Show(nil)
}

func (s *sender) run(ctx context.Context) {
	tail, at := s.Mirror.Tail()
	defer s.Mirror.Unfeed(tail)
	s.book = notify.NewBook(at, func(name string) (*job.Job, *job.NotifyState) {
		j, _ := s.Mirror.Job(name)
		return j, s.Mirror.NotifyState(name)
	})
	if !s.open(ctx, at) {
		return
	}
	again := time.NewTimer(0)
	defer again.Stop()
	for ctx.Err() == nil {
		for _, c := range tail.Take() {
			s.book.Apply(c)
		}
		s.settle()
		s.show()
		for _, n := range s.book.Take() {
			s.post(ctx, n)
		}
		if wait := time.Until(s.rest); wait > 0 {
			again.Reset(wait)
		} else if s.record(ctx); s.book.Partly() {
			again.Reset(time.Second)
		}
		select {
		case <-ctx.Done():
		case <-tail.Ready():
		case <-s.ready:
		case <-again.C:
		}
	}
}

// open opens the book for all jobs that have notifiers. at is the revision at which the term started. It returns false if ctx has
// ended.
func (s *sender) open(ctx context.Context, at int64) bool {
	jobs := make(map[string]bool)
	for _, name := range s.Mirror.NotifyingJobs() {
		jobs[name] = true
	}
	if len(jobs) == 0 {
		return true
	}
	events := make(map[string][]*job.Event)
	for {
		list, err := s.Store.EventsOf(ctx, jobs, at)
		if err == nil {
			for _, e := range list {
				events[e.Job] = append(events[e.Job], e)
			}
			break
		}
		if loop.Pause(ctx, refusedPause); ctx.Err() != nil {
			return false
		}
		s.log.Warn("no notices are sent yet: the events cannot be read", "err", failure.Short(err))
	}
	for name := range jobs {
		if j, ok := s.Mirror.Job(name); ok && j.Spec.Reports() {
			s.book.Open(j, s.Mirror.NotifyState(name), s.Mirror.Runs(name, time.Time{}, mayHaveNotice), events[name])
		}
	}
	return true
}

// mayHaveNotice reports whether a notice about a run may be open. A run that has not begun has none.
func mayHaveNotice(r *job.Run) bool { return r.State != job.Pending || len(r.Attempts) > 0 }

// post sends a notice to each of its notifiers.
func (s *sender) post(ctx context.Context, n *notify.Notice) {
	receipt := n.Receipt // what waits for the answers does not hold the notice
	for _, to := range n.To {
		done := func() {
			s.mu.Lock()
			s.settled = append(s.settled, settled{receipt, to.Name})
			s.mu.Unlock()
			s.wake()
		}
		if to.Ping != nil {
			s.pings.Post(ctx, to.Name, to.URL, send.Item{
				Line: to.Ping.Text, Message: func(context.Context) notify.Message { return notify.Message{Signal: to.Ping} }, Done: done,
			})
			continue
		}
		s.queues.Post(ctx, to.Name, to.URL, send.Item{
			Occasion: to.Occasion,
			Template: to.Template,
			Line:     n.Line(to.Occasion),
			Message: func(ctx context.Context) notify.Message {
				return n.Message(to.Occasion, s.output(ctx, n), s.Addr)
			},
			Done: done,
		})
	}
}

// outputTimeout bounds the read of a run's output. If it runs out, the message is sent without the output.
const outputTimeout = 2 * time.Second

// output returns the tail of the output of the notice's run. It reads the store, because the mirror does not keep the output.
func (s *sender) output(ctx context.Context, n *notify.Notice) string {
	if n.Run == nil || !n.Run.State.Terminal() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	r, err := s.Store.Run(ctx, n.Run.Job, n.Run.ID)
	if err != nil {
		return "" // the run was removed from the history, or the store does not answer
	}
	return r.Output
}

// record writes records of the notices that were sent into the store.
func (s *sender) record(ctx context.Context) {
	list := s.book.Records(s.Now())
	if len(list) == 0 {
		return
	}
	s.Store.PutNotifyState(ctx, s.term, list, func(i int, rev int64, err error) {
		s.mu.Lock()
		s.written = append(s.written, written{list[i], rev, err})
		s.mu.Unlock()
		s.wake()
	})
}

// settle moves the entries of settled and written into the book.
func (s *sender) settle() {
	s.mu.Lock()
	settled, written := s.settled, s.written
	s.settled, s.written = nil, nil
	s.mu.Unlock()
	for _, d := range settled {
		s.book.Done(d.receipt, d.target)
	}
	for _, w := range written {
		s.book.Recorded(w.record, w.rev, w.err)
		if w.err != nil {
			s.rest = time.Now().Add(refusedPause)
			s.log.Debug("sent notices were not recorded", "job", w.record.Job, "err", w.err)
		}
	}
}

// Notified counts outcomes, and lets run look at the queues.
func (s *sender) Notified(notifier, outcome string, n int) {
	s.Observer.Notified(notifier, outcome, n)
	s.wake()
}

// keepUndelivered is how long people see that a message was given up.
const keepUndelivered = 24 * time.Hour

// show publishes the notifiers whose messages do not arrive, if they are others than before.
func (s *sender) show() {
	now := time.Now()
	list := append(s.queues.Undelivered(now, keepUndelivered), s.pings.Undelivered(now, keepUndelivered)...)
	if list = list[:min(len(list), job.MaxUndelivered)]; !slices.Equal(list, s.shown) {
		s.Show(list)
		s.shown = list
	}
}

func (s *sender) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}
