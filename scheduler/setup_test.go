package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// feed is a scheduler.Feed with changes from the test.
type feed struct {
	mu      sync.Mutex
	changes []job.Change
	lag     time.Duration // how old the feed is
	taken   func()        // called when changes are taken, if it is set
	ready   chan struct{}
}

func newFeed() *feed { return &feed{ready: make(chan struct{}, 1)} }

func (f *feed) add(changes ...job.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, changes...)
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *feed) Ready() <-chan struct{} { return f.ready }

func (f *feed) Heard() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(-f.lag)
}

func (f *feed) Take() []job.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.changes
	f.changes = nil
	if f.taken != nil && len(out) > 0 {
		f.taken()
	}
	return out
}

// commit is one decision that was sent to the store.
type commit struct {
	at       time.Time
	ctx      context.Context
	term     election.Term
	decision job.Decision
	answer   func(job.Applied)
}

// store is a scheduler.Store that records decisions. It answers at once, unless it is silent.
type store struct {
	mu     sync.Mutex
	rev    int64
	err    error // the error in every answer
	silent bool
	sent   []commit
}

func (s *store) Commit(ctx context.Context, term election.Term, ds []job.Decision, done func(int, job.Applied)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range ds {
		s.sent = append(s.sent, commit{time.Now(), ctx, term, d, func(a job.Applied) { done(i, a) }})
		if s.silent {
			continue
		}
		s.rev++
		a := job.Applied{Rev: s.rev, Err: s.err}
		if s.err != nil {
			a.Rev = 0
		}
		done(i, a)
	}
}

func (s *store) commits() []commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]commit(nil), s.sent...)
}

// rig is a scheduler in a bubble of synctest.
type rig struct {
	*scheduler.Scheduler
	t     *testing.T
	store *store
	feed  *feed
	stop  context.CancelCauseFunc // ends Run
	ended chan error              // receives the result of Run
	ahead atomic.Int64            // how far the wall clock is set ahead
}

var errTestOver = errors.New("test over")

// run starts a scheduler with one job that is due every minute and one worker. It stops the scheduler after f.
func run(t *testing.T, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		r := &rig{t: t, store: &store{rev: 100}, feed: newFeed(), stop: stop, ended: make(chan error, 1)}
		now := func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }
		r.Scheduler = scheduler.New(planner.Config{ClaimTimeout: 24 * time.Hour}, r.store, r.feed, nil, now, hclog.NewNullLogger())
		go func() { r.ended <- r.Run(ctx) }()
		spec := job.Spec{Every: job.Duration(time.Minute), Overlap: job.OverlapAllow, Command: []string{"true"}}.WithDefaults()
		r.feed.add(
			job.Change{Kind: job.RecordJob, Name: "j", Rev: 1, Value: &job.Job{Name: "j", Generation: 1, Since: time.Now(), Spec: &spec, Rev: 1}},
			job.Change{Kind: job.RecordWorker, Name: "w", Rev: 2, Value: &job.Worker{Name: "w", Session: "s", Capacity: 100, Rev: 2}},
		)
		synctest.Wait()
		f(t, r)
		stop(errTestOver)
		if err := <-r.ended; !errors.Is(err, errTestOver) {
			t.Errorf("Run returned %v, want the cause of its context", err)
		}
	})
}

// lead starts a term. The channel receives the result of Lead.
func (r *rig) lead(term int64) (end context.CancelCauseFunc, ended chan error) {
	ctx, end := context.WithCancelCause(r.t.Context())
	ended = make(chan error, 1)
	go func() { ended <- r.Lead(ctx, election.Term{Key: fmt.Sprint("k", term), Rev: term}) }()
	synctest.Wait()
	return end, ended
}

func (r *rig) mustLead(ended chan error) {
	r.t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		r.t.Fatalf("Lead returned %v, want it to go on", err)
	default:
	}
}

var errOver = errors.New("term is over")

type observer struct{ decided int }

func (o *observer) Decided(job.Decision, job.Applied, time.Time, time.Time) { o.decided++ }
