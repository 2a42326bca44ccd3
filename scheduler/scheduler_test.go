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

// feed is a scheduler.Feed that a test fills.
type feed struct {
	mu      sync.Mutex
	changes []job.Change
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

func (f *feed) Heard() time.Time { return time.Now() }

func (f *feed) Take() []job.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.changes
	f.changes = nil
	return out
}

// commit is one decision that has been sent to the store.
type commit struct {
	at       time.Time
	ctx      context.Context
	term     election.Term
	decision job.Decision
	answer   func(job.Applied)
}

// store is a scheduler.Store that keeps what it is sent. It answers at once, unless it is silent.
type store struct {
	mu     sync.Mutex
	rev    int64
	err    error // of every answer
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

// rig is a scheduler that runs within a bubble of synctest.
type rig struct {
	*scheduler.Scheduler
	t     *testing.T
	store *store
	feed  *feed
	stop  context.CancelCauseFunc // of Run
	ended chan error              // Run's
	ahead atomic.Int64            // how far the wall clock is set ahead
}

var errTestOver = errors.New("test over")

// run starts a scheduler with one job that is due every minute and one worker, and stops it at the end of f.
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

// lead begins a term; its end is told on the channel.
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

func TestALeaderCommitsEachSlotInItsTime(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		began := time.Now()
		time.Sleep(90 * time.Second)
		if n := len(r.store.commits()); n != 0 {
			t.Fatalf("a standby committed %d decisions", n)
		}
		end, ended := r.lead(7)
		if st := r.Status(); st.Term != 7 || st.Since != began.Add(90*time.Second) {
			t.Errorf("status %+v, want term 7 since now", st)
		}
		time.Sleep(2 * time.Minute)
		end(errOver)
		if err := <-ended; !errors.Is(err, errOver) {
			t.Errorf("Lead returned %v, want the cause of its context", err)
		}
		time.Sleep(5 * time.Minute)
		var got []string
		for _, c := range r.store.commits() {
			got = append(got, fmt.Sprintf("%v %s %v", c.at.Sub(began), c.decision.Run.Slot.Sub(began), c.term.Rev))
		}
		want := "[1m30s 1m0s 7 2m0s 2m0s 7 3m0s 3m0s 7]"
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s: the missed slot at once, the others in their time, none after the term", got, want)
		}
		if st := r.Status(); st.Term != 0 || st.Pending != 0 {
			t.Errorf("status %+v, want no term", st)
		}
	})
}

func TestLeadReturnsWhenEverythingIsAnswered(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.silent = true
		end, ended := r.lead(7)
		time.Sleep(time.Minute + time.Second)
		sent := r.store.commits()
		if len(sent) != 1 {
			t.Fatalf("%d decisions are under way, want 1", len(sent))
		}
		if st := r.Status(); st.Pending != 1 {
			t.Errorf("status %+v, want one pending", st)
		}
		end(errOver)
		r.mustLead(ended)
		if sent[0].ctx.Err() == nil {
			t.Error("the commit's context goes on after the term")
		}
		r.feed.add(job.Change{Kind: job.RecordWorker, Name: "x", Rev: 3, Value: &job.Worker{Name: "x", Session: "x", Rev: 3}})
		time.Sleep(10 * time.Minute)
		r.mustLead(ended)
		sent[0].answer(job.Applied{Err: errOver})
		if err := <-ended; !errors.Is(err, errOver) {
			t.Errorf("Lead returned %v, want the cause of its context", err)
		}
		if n := len(r.store.commits()); n != 1 {
			t.Errorf("%d decisions were committed, want none after the term", n-1)
		}

		r.store.silent = false
		end, ended = r.lead(9)
		if n := len(r.store.commits()); n < 2 {
			t.Error("the next term decides nothing")
		}
		end(errOver)
		<-ended
	})
}

func TestALostTermEndsTheReign(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.err = fmt.Errorf("%w: others lead", election.ErrTermLost)
		_, ended := r.lead(7)
		r.mustLead(ended)
		time.Sleep(time.Minute)
		if err := <-ended; !errors.Is(err, election.ErrTermLost) {
			t.Errorf("Lead returned %v, want ErrTermLost", err)
		}
		time.Sleep(time.Hour)
		if n := len(r.store.commits()); n != 1 {
			t.Errorf("%d decisions were committed, want 1", n)
		}
	})
}

func TestARefusalIsNotRepeatedInALoop(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.err = job.ErrFull
		end, ended := r.lead(7)
		time.Sleep(2 * time.Minute)
		if n := len(r.store.commits()); n < 5 || n > 40 {
			t.Errorf("%d decisions were sent within a minute of refusals, want some 20", n)
		}
		r.store.mu.Lock()
		r.store.err = nil
		r.store.mu.Unlock()
		time.Sleep(10 * time.Second)
		if r.Status().Pending != 0 {
			t.Errorf("status %+v", r.Status())
		}
		end(errOver)
		<-ended
	})
}

func TestTheEndOfRunEndsTheReign(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.silent = true
		_, ended := r.lead(7)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(errTestOver)
		r.mustLead(ended)
		r.store.commits()[0].answer(job.Applied{Err: job.ErrConflict})
		if err := <-ended; err == nil {
			t.Error("Lead returned nil, want why it ended")
		}
		r.ended <- <-r.ended // Run has ended, too
		if err := r.Lead(t.Context(), election.Term{Rev: 8}); err == nil {
			t.Error("Lead after Run returned nil, want an error")
		}
	})
}

func TestLeadEndsWhileNobodyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(planner.Config{}, &store{}, newFeed(), nil, time.Now, hclog.NewNullLogger())
		ctx, end := context.WithCancelCause(t.Context())
		end(errOver)
		if err := s.Lead(ctx, election.Term{Rev: 1}); !errors.Is(err, errOver) {
			t.Errorf("Lead returned %v, want the cause of its context", err)
		}
	})
}

func TestObserverIsToldOfEveryAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, st, o := newFeed(), &store{rev: 10}, &observer{}
		s := scheduler.New(planner.Config{}, st, f, o, time.Now, hclog.NewNullLogger())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Run(ctx) })
		spec := job.Spec{Every: job.Duration(time.Second), Overlap: job.OverlapAllow, Command: []string{"true"}}.WithDefaults()
		f.add(job.Change{Kind: job.RecordJob, Name: "j", Rev: 1, Value: &job.Job{Name: "j", Generation: 1, Since: time.Now(), Spec: &spec, Rev: 1}})
		wg.Go(func() { _ = s.Lead(ctx, election.Term{Rev: 1}) })
		time.Sleep(10*time.Second + time.Millisecond)
		cancel()
		wg.Wait()
		if got, want := o.told, len(st.commits()); got != want || want < 10 {
			t.Errorf("told of %d answers, there were %d", got, want)
		}
	})
}

type observer struct{ told int }

func (o *observer) Decided(job.Decision, job.Applied, time.Time) { o.told++ }

func TestALeaderThatDoesNotDispatchIsBehind(t *testing.T) {
	const enough = 10 * time.Second
	behind := func(r *rig) time.Duration { return r.Status().Behind(time.Now()) }
	lead := func(t *testing.T, r *rig) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- r.Lead(ctx, election.Term{Key: "k", Rev: 5}) }()
		return func() {
			cancel()
			<-over
		}
	}
	t.Run("but not one that does", func(t *testing.T) {
		run(t, func(t *testing.T, r *rig) {
			defer lead(t, r)()
			for range 100 {
				time.Sleep(7 * time.Second)
				synctest.Wait()
				if d := behind(r); d > 0 {
					t.Fatalf("behind by %v", d)
				}
			}
			if len(r.store.commits()) < 5 {
				t.Error("nothing was decided")
			}
		})
	})
	t.Run("since the store does not answer", func(t *testing.T) {
		run(t, func(t *testing.T, r *rig) {
			r.store.silent = true
			end := lead(t, r)
			time.Sleep(time.Minute + enough)
			synctest.Wait()
			if d := behind(r); d < enough {
				t.Errorf("behind by %v, want %v", d, enough)
			}
			for _, c := range r.store.commits() {
				c.answer(job.Applied{Rev: 200})
			}
			synctest.Wait()
			if d := behind(r); d > 0 {
				t.Errorf("after the answer: behind by %v", d)
			}
			r.store.mu.Lock()
			r.store.silent = false
			r.store.mu.Unlock()
			end()
		})
	})
	t.Run("since the store refuses everything", func(t *testing.T) {
		run(t, func(t *testing.T, r *rig) {
			r.store.err = job.ErrFull
			defer lead(t, r)()
			time.Sleep(time.Minute + 2*enough)
			synctest.Wait()
			if d := behind(r); d < enough {
				t.Errorf("behind by %v, want %v", d, enough)
			}
			r.store.mu.Lock()
			r.store.err = nil
			r.store.mu.Unlock()
			time.Sleep(enough)
			synctest.Wait()
			if d := behind(r); d > 0 {
				t.Errorf("when it takes them again: behind by %v", d)
			}
		})
	})
	t.Run("since the loop is stuck", func(t *testing.T) {
		now := time.Now()
		if d := (scheduler.Status{Term: 5, Due: now}).Behind(now.Add(enough)); d != enough {
			t.Errorf("behind by %v, want %v", d, enough)
		}
	})
}

func TestWhatTheLeaderEndsInTheWorkersPlaceIsMarked(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- r.Lead(ctx, election.Term{Key: "k", Rev: 5}) }()
		began := time.Now()
		r.feed.add(job.Change{Kind: job.RecordRun, Name: "j/m1", Rev: 50, Value: &job.Run{
			Job: "j", ID: "m1", Kind: job.KindManual, State: job.Running, Attempt: 1, Worker: "w", Session: "s", Token: 40,
			Due: began, Started: began, Rev: 50,
		}})
		r.feed.add(job.Change{Kind: job.RecordWorker, Name: "w", Rev: 51})
		time.Sleep(time.Second)
		synctest.Wait()
		var given []job.Decision
		for _, c := range r.store.commits() {
			if c.decision.GaveUp {
				given = append(given, c.decision)
			}
		}
		if len(given) != 1 || given[0].Run.Attempts[0].State != job.Lost {
			t.Errorf("got %+v, want one attempt that was given up", given)
		}
		cancel()
		<-over
	})
}

// A leader whose clock is set decides nothing by it: what is overdue by a wrong clock would be skipped or begun for good.
func TestNothingIsDecidedByAClockThatWasSet(t *testing.T) {
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		run(t, func(t *testing.T, r *rig) {
			_, ended := r.lead(7)
			time.Sleep(90 * time.Second)
			before := len(r.store.commits())
			r.ahead.Store(int64(by))
			r.feed.add(job.Change{Kind: job.RecordGate, Rev: 200, Value: &job.Gate{Rev: 200}}) // wakes the loop
			synctest.Wait()
			select {
			case err := <-ended:
				if !errors.Is(err, election.ErrClockJumped) {
					t.Errorf("Lead returned %v, want %v", err, election.ErrClockJumped)
				}
			default:
				t.Errorf("the term goes on after the clock was set by %v", by)
			}
			if n := len(r.store.commits()); n != before {
				t.Errorf("%d slots were decided by the wrong clock", n-before)
			}
		})
	}
}

// A clock that is slewed is right.
func TestASlewedClockEndsNoTerm(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		end, ended := r.lead(7)
		for range 60 {
			time.Sleep(time.Minute)
			r.ahead.Add(int64(30 * time.Millisecond))
		}
		r.mustLead(ended)
		end(errOver)
		<-ended
	})
}
