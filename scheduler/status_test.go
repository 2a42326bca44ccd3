package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestBehind(t *testing.T) {
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
	t.Run("is zero while the leader dispatches", func(t *testing.T) {
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
	t.Run("grows while the store does not answer", func(t *testing.T) {
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
	t.Run("grows while the store refuses everything", func(t *testing.T) {
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
				t.Errorf("when the store accepts decisions again: behind by %v", d)
			}
		})
	})
	t.Run("counts from the oldest decision without an answer", func(t *testing.T) {
		run(t, func(t *testing.T, r *rig) {
			r.store.silent = true
			spec := job.Spec{Every: job.Duration(2 * time.Minute), Command: []string{"true"}}.WithDefaults()
			r.feed.add(job.Change{Kind: job.RecordJob, Name: "k", Rev: 3, Value: &job.Job{
				Name: "k", Generation: 1, Since: time.Now(), Spec: &spec, Rev: 3,
			}})
			end := lead(t, r)
			time.Sleep(2*time.Minute + enough)
			synctest.Wait()
			sent := r.store.commits()
			if len(sent) == 2 {
				sent[0].answer(job.Applied{Rev: 200})
			}
			synctest.Wait()
			if d := behind(r); len(sent) != 2 || d != enough {
				t.Errorf("%d decisions, behind by %v; want that of the second", len(sent), d)
			}
			for _, c := range r.store.commits()[1:] {
				c.answer(job.Applied{Rev: 201})
			}
			r.store.mu.Lock()
			r.store.silent = false
			r.store.mu.Unlock()
			end()
		})
	})
	for _, err := range []error{job.ErrConflict, job.ErrTooLarge} {
		t.Run("is zero after "+err.Error(), func(t *testing.T) {
			run(t, func(t *testing.T, r *rig) {
				r.store.err = err
				defer lead(t, r)()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if st := r.Status(); len(r.store.commits()) == 0 || !st.Refused.IsZero() {
					t.Errorf("status %+v, want no refusal", st)
				}
			})
		})
	}
	t.Run("is zero long after the last refusal", func(t *testing.T) {
		now := time.Now()
		if d := (scheduler.Status{Term: 5, Refused: now.Add(-time.Hour), RefusedLast: now.Add(-time.Minute)}).Behind(now); d != 0 {
			t.Errorf("behind by %v", d)
		}
	})
	t.Run("grows while the loop is stuck", func(t *testing.T) {
		now := time.Now()
		if d := (scheduler.Status{Term: 5, Due: now}).Behind(now.Add(enough)); d != enough {
			t.Errorf("behind by %v, want %v", d, enough)
		}
	})
}

// A leader whose clock was set decides nothing. With a wrong clock it would skip or start slots, and could not undo that.
func TestLeaderWhoseClockWasSetDecidesNothing(t *testing.T) {
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

// A run has just begun when the clock is set, as on a machine without a battery. It is not overdue, in this term or the next, and
// neither on a replica that did not lead.
func TestARunIsNotOverdueBecauseTheClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		for _, led := range []bool{true, false} {
			t.Run(fmt.Sprintf("set by %v, led %t", by, led), func(t *testing.T) {
				run(t, func(t *testing.T, r *rig) { setClockDuringARun(t, r, by, led) })
			})
		}
	}
}

// runningSince returns the change that a run with a timeout of ten minutes began.
func runningSince(began time.Time) job.Change {
	return job.Change{Kind: job.RecordRun, Name: job.AdHoc + "/x", Rev: 151, Value: &job.Run{
		Job: job.AdHoc, ID: "x", Kind: job.KindManual, Slot: began, Due: began, Armed: began, State: job.Running, Attempt: 1, Worker: "w",
		Session: "s", Token: 150, Started: began, Bound: job.Duration(10 * time.Minute), Rev: 151,
		Spec: &job.Spec{Command: []string{"true"}},
	}}
}

func setClockDuringARun(t *testing.T, r *rig, by time.Duration, led bool) {
	r.feed.add(runningSince(time.Now().UTC()))
	synctest.Wait()
	if led {
		_, ended := r.lead(7)
		defer func() { <-ended }()
	}
	time.Sleep(90 * time.Second)
	r.ahead.Store(int64(by))
	r.feed.add(job.Change{Kind: job.RecordGate, Rev: 200, Value: &job.Gate{Rev: 200}}) // wakes the loop
	synctest.Wait()
	end, ended := r.lead(8)
	stopped := func() bool {
		return slices.ContainsFunc(r.store.commits(), func(c commit) bool { return c.decision.Stop })
	}
	time.Sleep(9 * time.Minute)
	if stopped() {
		t.Error("the run is stopped before its timeout")
	}
	time.Sleep(10 * time.Minute)
	if !stopped() {
		t.Error("the run is never stopped")
	}
	end(errOver)
	<-ended
}

// The clock of a follower is set, and then a run begins. Its timeout counts from its start, although this replica leads later.
func TestARunThatBeginsAfterTheClockWasSetEndsInTime(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.ahead.Store(int64(8 * time.Hour))
		r.feed.add(runningSince(time.Now().Add(8 * time.Hour).UTC()))
		time.Sleep(9 * time.Minute)
		end, ended := r.lead(7)
		time.Sleep(8 * time.Minute)
		if !slices.ContainsFunc(r.store.commits(), func(c commit) bool { return c.decision.Stop }) {
			t.Error("the run is not stopped")
		}
		end(errOver)
		<-ended
	})
}

// A term that begins after the clock of a follower was set decides by the new time.
func TestAClockThatWasSetBeforeATermDoesNotEndIt(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.ahead.Store(int64(8 * time.Hour))
		end, ended := r.lead(7)
		r.mustLead(ended)
		end(errOver)
		<-ended
	})
}

// The time of a slewed clock is correct, so the term continues.
func TestSlewedClockEndsNoTerm(t *testing.T) {
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
