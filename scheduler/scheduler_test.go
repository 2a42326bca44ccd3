package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

func TestLeaderCommitsEachSlotWhenDue(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		began := time.Now()
		time.Sleep(90 * time.Second)
		if n := len(r.store.commits()); n != 0 {
			t.Fatalf("a follower committed %d decisions", n)
		}
		if st := r.Status(); st.Term != 0 {
			t.Errorf("before the first term: status %+v", st)
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
			t.Errorf("got %v, want %s: the missed slot at once, the others when due, none after the term", got, want)
		}
		if st := r.Status(); st.Term != 0 || st.Pending != 0 {
			t.Errorf("status %+v, want no term", st)
		}
	})
}

func TestLeadReturnsAfterTheLastAnswer(t *testing.T) {
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
			t.Error("the context of the commit did not end with the term")
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

func TestLostTermEndsLead(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.err = fmt.Errorf("%w: another replica leads", election.ErrTermLost)
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

func TestRefusedDecisionsBackOff(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.err = job.ErrFull
		end, ended := r.lead(7)
		time.Sleep(2 * time.Minute)
		if n := len(r.store.commits()); n < 5 || n > 40 {
			t.Errorf("%d decisions were sent within a minute of refusals, want about 20", n)
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

func TestEndOfRunEndsLead(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.store.silent = true
		_, ended := r.lead(7)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(errTestOver)
		r.mustLead(ended)
		r.store.commits()[0].answer(job.Applied{Err: job.ErrConflict})
		if err := <-ended; err == nil {
			t.Error("Lead returned nil, want the reason")
		}
		r.ended <- <-r.ended // Run has ended too
		if err := r.Lead(t.Context(), election.Term{Rev: 8}); err == nil {
			t.Error("Lead after Run returned nil, want an error")
		}
	})
}

func TestLeadReturnsWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(planner.Config{}, &store{}, newFeed(), nil, time.Now, hclog.NewNullLogger())
		ctx, end := context.WithCancelCause(t.Context())
		end(errOver)
		if err := s.Lead(ctx, election.Term{Rev: 1}); !errors.Is(err, errOver) {
			t.Errorf("Lead returned %v, want the cause of its context", err)
		}
	})
}

func TestObserverGetsEveryAnswer(t *testing.T) {
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
		if got, want := o.decided, len(st.commits()); got != want || want < 10 {
			t.Errorf("the observer got %d answers, want %d", got, want)
		}
	})
}

func TestGivenUpAttemptIsMarked(t *testing.T) {
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

// A leader takes time to read its feed. A slot that comes due meanwhile takes the place of no missed one, because it is not missed.
func TestASlotThatComesDueWhileTheFeedIsReadIsNotMissed(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		began := time.Now()
		spec := job.Spec{Every: job.Duration(time.Minute), Missed: job.MissedLatest, Command: []string{"true"}}.WithDefaults()
		def := job.Job{Name: "p", Generation: 1, Since: began, Spec: &spec, Rev: 3, Paused: &job.Pause{At: began.Add(time.Second)}}
		r.feed.add(job.Change{Kind: job.RecordJob, Name: "p", Rev: 3, Value: &def})
		end, ended := r.lead(7)
		time.Sleep(2*time.Minute - 10*time.Millisecond)
		byHand := def
		byHand.Paused, byHand.Rev = nil, 4
		r.feed.mu.Lock()
		r.feed.taken = func() { r.ahead.Store(int64(40 * time.Millisecond)) }
		r.feed.mu.Unlock()
		r.feed.add(job.Change{Kind: job.RecordJob, Name: "p", Rev: 4, Value: &byHand})
		synctest.Wait()
		first := ""
		for _, c := range r.store.commits() {
			if c.decision.Job == "p" && c.decision.Run != nil {
				first = cmp.Or(first, c.decision.Run.ID)
			}
		}
		if want := job.SlotID(began.Add(time.Minute)); first != want {
			t.Errorf("the first run is of slot %q, want %s, the only one that was missed", first, want)
		}
		end(errTestOver)
		<-ended
	})
}

func TestInvalidSchedulesAreKnown(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		spec := job.Spec{Schedule: []string{"never ever"}, Command: []string{"true"}}.WithDefaults()
		r.feed.add(job.Change{Kind: job.RecordJob, Name: "bad", Rev: 3, Value: &job.Job{Name: "bad", Generation: 1, Spec: &spec, Rev: 3}})
		synctest.Wait()
		if got := r.InvalidSchedules(); len(got) != 1 || got["bad"] == nil {
			t.Errorf("got %v, want an error for job bad", got)
		}
	})
}

// A feed that lags may not have brought the end of a run yet, so its slot is not recorded as late.
func TestALaggingFeedMakesNoSlotLate(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		spec := job.Spec{Every: job.Duration(10 * time.Minute), FinishBy: "1m", Command: []string{"true"}}.WithDefaults()
		r.feed.add(job.Change{Kind: job.RecordJob, Name: "f", Rev: 3, Value: &job.Job{
			Name: "f", Generation: 1, Since: time.Now(), Spec: &spec, Rev: 3,
		}})
		lag := func(by time.Duration) {
			r.feed.mu.Lock()
			r.feed.lag = by
			r.feed.mu.Unlock()
		}
		late := func() bool {
			return slices.ContainsFunc(r.store.commits(), func(c commit) bool {
				return c.decision.Event != nil && c.decision.Event.Kind == job.EventLate
			})
		}
		lag(time.Hour)
		end, ended := r.lead(7)
		time.Sleep(15 * time.Minute)
		if late() {
			t.Error("a slot is late by a feed that lags")
		}
		lag(0)
		time.Sleep(time.Minute)
		if !late() {
			t.Error("no slot is late by a feed that is current")
		}
		end(errOver)
		<-ended
	})
}
