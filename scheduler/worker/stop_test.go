package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

func TestStop(t *testing.T) {
	cancel := func(run job.Run) (job.Run, error) {
		return run.Stop(job.Cancel{At: time.Now(), By: "me", Reason: "enough"})
	}

	bubble(t, "cancels an executing attempt and keeps the request in the record", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.change(name, r.session().id, cancel)
		after(time.Second)
		got := r.wantState(name, job.Canceled)
		if got.Cancel == nil || got.Cancel.By != "me" || !strings.Contains(got.Reason, "enough") {
			t.Errorf("run = %+v, want the request and its reason kept", got)
		}
	})

	bubble(t, "ends an armed run", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.start()
		name := r.store.pending("backup", "a", time.Now().Add(time.Second))
		r.give(name)
		after(0)
		r.store.change(name, r.session().id, cancel)
		after(2 * time.Second)
		r.wantState(name, job.Canceled)
		r.wantExecutions(0)
	})

	bubble(t, "has no effect if its change was refused", func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.set(func() {
			r.store.rev++
			r.store.publish(job.Order{ID: "x", Session: r.session().id, Rev: r.store.rev, Stop: []string{name}})
		})
		after(10 * time.Second)
		r.wantState(name, job.Succeeded)
	})

	bubble(t, "of an earlier attempt does not affect the present one", func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		r.start()
		due := time.Now().Add(time.Second)
		name := r.store.pending("backup", "a", due)
		order := r.give(name)
		stop := func(id string) {
			r.store.set(func() {
				r.store.publish(job.Order{ID: id, Session: r.session().id, Rev: order.Rev - 1, Stop: []string{name}})
			})
		}
		after(0)
		stop("while armed")
		after(2 * time.Second)
		stop("while running")
		after(10 * time.Second)
		r.wantState(name, job.Succeeded)
	})

	bubble(t, "of a canceled run prevents a retry", func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
			time.Sleep(10 * time.Second)
			return failing(ctx, req)
		})
		r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{Max: 5}})
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.change(name, "", cancel)
		after(10 * time.Second)
		r.wantState(name, job.Failed)
	})
}

func TestAttemptsThatIgnoreBeingStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, executor.Request) job.Outcome {
			time.Sleep(time.Hour)
			return job.Outcome{State: job.Succeeded}
		})
		r.start()
		r.one()
		after(time.Second)
		begun := time.Now()
		if err := r.result(); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("Run() = %v, want the attempt left behind", err)
		}
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("Run took %v to end", took)
		}
		time.Sleep(time.Hour)
	})
}

// TestABackSessionEndsWhatALeaderGaveUp puts a presence back after a leader has given up one of two attempts.
func TestABackSessionEndsWhatALeaderGaveUp(t *testing.T) {
	for _, given := range []job.State{job.Pending, job.Running} { // of the run that was given up; running: by another worker
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(10*time.Second))
			r.start()
			var names []string
			for _, id := range []string{"a", "b"} {
				names = append(names, r.store.pending("backup", id, time.Now()))
			}
			r.give(names...)
			after(time.Second)
			r.store.change(names[0], "", func(run job.Run) (job.Run, error) {
				lost := job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker w1 was lost"}
				next, err := run.Requeue(lost, time.Now(), "tried again")
				if err != nil || given == job.Pending {
					return next, err
				}
				if next, err = next.Assign(&job.Worker{Name: "w2", Session: "s"}); err != nil {
					return next, err
				}
				return next.Claim(run.Token+1, time.Now())
			})
			r.session().back <- struct{}{}
			after(time.Second)
			r.wantState(names[0], given)
			if n := r.w.executing.count(); n != 1 {
				t.Errorf("%d attempts execute a second later, want only the one that nobody gave up", n)
			}
			after(10 * time.Second)
			r.wantState(names[1], job.Succeeded)
			r.wantState(names[0], given)
		})
	}
}

// TestABackSessionEndsAClaimWhoseAnswerIsLate lets a leader give an attempt up, and the presence come back, before the claim is
// answered.
func TestABackSessionEndsAClaimWhoseAnswerIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		r.start()
		name := r.store.pending("backup", "a", time.Now())
		r.store.wrote = func(claimed job.Run) { // the store is locked
			if claimed.State != job.Running {
				return
			}
			over, err := claimed.Requeue(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker w1 was lost"}, time.Now(), "tried again")
			if err != nil {
				t.Error(err)
			}
			r.store.rev++
			r.store.keep(stored(over, r.store.rev))
			r.session().back <- struct{}{}
			time.Sleep(time.Second)
		}
		r.give(name)
		after(2 * time.Second)
		if n := r.w.executing.count(); n != 0 {
			t.Errorf("%d attempts execute, want none: the leader gave it up", n)
		}
		r.wantState(name, job.Pending)
	})
}

// TestARepeatedAttemptWaitsForTheOneBefore lets a leader give an attempt up and repeat it at the same session, before the worker has
// noticed the first. The given-up attempt ignores its end for a moment.
func TestARepeatedAttemptWaitsForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
			o := lasting(10*time.Second)(ctx, req)
			time.Sleep(executor.HurryGrace - time.Millisecond)
			return o
		})
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.change(name, "", func(run job.Run) (job.Run, error) {
			next, err := run.Requeue(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker w1 was lost"}, time.Now(), "tried again")
			return next.GiveUp(), err
		})
		r.give(name)
		after(time.Minute)
		r.wantState(name, job.Succeeded)
		r.wantExecutions(2)
		if r.exec.max != 1 {
			t.Errorf("%d attempts of the run executed at a time, want 1", r.exec.max)
		}
	})
}

// TestAClockThatWasSetEndsNoAttempt claims a run by a clock that is an hour behind and is then set. The presence of the worker is put
// back after that, so the worker reads the record of the run.
func TestAClockThatWasSetEndsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.store.define("backup", job.Spec{Command: []string{"x"}, Timeout: job.Duration(30 * time.Minute)})
		set := time.Now().Add(10 * time.Second)
		r.cfg.Now = func() time.Time {
			now := time.Now()
			if now.Before(set) {
				now = now.Add(-time.Hour)
			}
			return now
		}
		r.start()
		name, _ := r.one()
		after(20 * time.Second)
		r.session().back <- struct{}{}
		after(time.Minute)
		r.wantState(name, job.Succeeded)
	})
}

// TestAnAttemptThatTheLeaderCallsOverdueTimesOut lets a leader, whose clock went on while this machine was suspended, call an attempt
// overdue.
func TestAnAttemptThatTheLeaderCallsOverdueTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) { run.Reason = policy.Overdue; return run, nil })
		after(time.Second)
		r.wantState(name, job.TimedOut)
	})
}
