package worker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAMachineThatCannotStartProcesses simulates a machine that can start no more processes.
func TestAMachineThatCannotStartProcesses(t *testing.T) {
	for _, delivery := range job.Deliveries() {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			var checks atomic.Int64
			full.Store(true)
			r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
				if full.Load() {
					return executor.NotBegun(errors.New("start backup: resource temporarily unavailable"))
				}
				return lasting(time.Second)(ctx, req)
			})
			r.store.define("backup", job.Spec{Command: []string{"backup"}, Delivery: delivery})
			r.cfg.StartCheck = func() error {
				checks.Add(1)
				if full.Load() {
					return syscall.EAGAIN
				}
				return nil
			}
			r.start()
			name, _ := r.one()
			after(0)
			got := r.wantState(name, job.Pending)
			if n := len(got.Attempts); n != 1 || got.Attempts[0].State != job.Lost || !strings.Contains(got.Attempts[0].Reason, job.NotBegun) {
				t.Errorf("attempts = %+v, want one that was lost before it began", got.Attempts)
			}
			if r.w.Refuses() == nil || !r.sessions.shown().Draining {
				t.Errorf("got %v, shown %+v, want an error and a worker that drains", r.w.Refuses(), r.sessions.shown())
			}
			if r.w.diskFull() {
				t.Error("the disk counts as full, and old output would be swept")
			}
			r.give(name) // assigned before the leader read the new presence
			after(time.Minute)
			if got := r.wantState(name, job.Pending); got.Reason != string(errCannotStart) {
				t.Errorf("run was handed back with %q, want %q", got.Reason, errCannotStart)
			}
			r.wantExecutions(1)
			if n := checks.Load(); n < 55 || n > 60 {
				t.Errorf("checked %d times in a minute, want once a second", n)
			}
			full.Store(false)
			after(2 * unhealthyProbeEvery)
			if r.w.Refuses() != nil || r.sessions.shown().Draining {
				t.Errorf("got %v, shown %+v, want neither", r.w.Refuses(), r.sessions.shown())
			}
			r.give(name)
			after(2 * time.Second)
			r.wantState(name, job.Succeeded)
			tried := checks.Load()
			after(time.Minute)
			if n := checks.Load() - tried; n > 0 {
				t.Errorf("checked %d times while attempts can start", n)
			}
		})
	}
}

// TestTextsOfOthersDoNotUndoABeginning covers an attempt that did work, and whose reason repeats an answer with the words for an
// attempt without work.
func TestTextsOfOthersDoNotUndoABeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, executor.Request) job.Outcome {
			return job.Outcome{State: job.Lost, Reason: "worker stopped; Job a/b may continue: API server stopped " + job.NotBegun, Retry: true}
		})
		r.store.define("backup", job.Spec{Command: []string{"backup"}, Delivery: job.AtMostOnce})
		r.start()
		name, _ := r.one()
		after(time.Second)
		if got := r.wantState(name, job.Lost); strings.Contains(got.Reason, job.NotBegun) {
			t.Errorf("got the reason %q, which says that the attempt had not begun", got.Reason)
		}
		if err := r.w.Refuses(); err != nil {
			t.Errorf("the worker refuses runs: %v", err)
		}
	})
}

// TestAPresenceThatChangesBeforeTheShiftIsShown breaks the worker between the write of its presence and the begin of its shift.
func TestAPresenceThatChangesBeforeTheShiftIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.cfg.StartCheck = func() error { return syscall.EAGAIN }
		r.sessions.opening = func() { r.w.startFailed(syscall.EAGAIN) }
		started := time.Now().UTC()
		r.start()
		after(time.Minute)
		if shown := r.sessions.shown(); !shown.Draining || shown.Broken == "" || !shown.Started.Equal(started) {
			t.Errorf("got %+v, want a broken worker that drains, started at %v", shown, started)
		}
	})
}

// TestAShortageOfOneRunDoesNotStopTheWorker covers an attempt that could not start, and whose run has to wait. Others can start.
func TestAShortageOfOneRunDoesNotStopTheWorker(t *testing.T) {
	for _, delivery := range job.Deliveries() {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(context.Context, executor.Request) job.Outcome {
				o := executor.NotBegun(syscall.EADDRNOTAVAIL)
				o.After = time.Minute
				return o
			})
			r.cfg.StartCheck = func() error { return syscall.EAGAIN } // a worker that took the shortage for its own stays broken
			r.store.define("backup", job.Spec{Command: []string{"backup"}, Delivery: delivery})
			r.start()
			name, _ := r.one()
			after(time.Second)
			got := r.wantState(name, job.Pending)
			first := got.Attempts[0]
			if wait := got.Due.Sub(first.Finished); wait != time.Minute || !strings.Contains(first.Reason, job.NotBegun) {
				t.Errorf("got %+v, waiting for %v, want an attempt that had not begun, and a minute", got, wait)
			}
			if err := r.w.Refuses(); err != nil {
				t.Errorf("the worker refuses runs: %v", err)
			}
		})
	}
}
