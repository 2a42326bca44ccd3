package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAttemptTiming(t *testing.T) {
	bubble(t, "is claimed before its time and begins at its time if it was armed ahead", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		due := time.Now().Add(2 * time.Second)
		name := r.store.pending("backup", "a", due)
		r.give(name)
		r.wantStart(name, 2*time.Second)
		if got := r.store.get(name).Started; !got.Equal(due) {
			t.Errorf("started at %v, want %v", got, due)
		}
	})

	// Revision 0 stands for a job that was deleted.
	for rev, want := range map[int64]job.State{7: job.Running, 8: job.Pending, 0: job.Pending} {
		bubble(t, fmt.Sprintf("is %s if it was armed from revision 7 of its job and %d is known at its claim", want, rev), func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.store.jobRev = 7
			due := time.Now().Add(2 * time.Second)
			r.cfg.Known = func(name string, least int64) (*job.Job, bool) {
				j := r.store.jobs[name]
				if j.Rev = 7; !time.Now().Before(due.Add(-minLead)) {
					j.Rev = rev
				}
				if j.Rev == 0 {
					return nil, true
				}
				return &j, j.Rev >= least
			}
			r.start()
			name := r.store.pending("backup", "a", due)
			r.give(name)
			after(2*time.Second - minLead - time.Nanosecond)
			r.wantState(name, job.Armed)
			after(minLead + time.Nanosecond)
			if got := r.wantState(name, want); want == job.Pending && got.Reason != string(errChanged) {
				t.Errorf("handed back with reason %q", got.Reason)
			}
			r.wantExecutions(map[job.State]int{job.Running: 1}[want])
		})
	}

	for later, want := range map[bool]job.State{false: job.Running, true: job.Pending} {
		bubble(t, fmt.Sprintf("is %s if all jobs were paused, %v after it was armed", want, later), func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			var armed atomic.Int64
			r.cfg.Paused = func(after int64) bool { armed.Store(after); return later }
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(2*time.Second))
			r.give(name)
			rev := r.store.get(name).Rev
			after(2 * time.Second)
			r.wantState(name, want)
			if armed.Load() != rev {
				t.Errorf("asked for a pause after revision %d, want that of the armed record, %d", armed.Load(), rev)
			}
		})
	}

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "ahead": -45 * time.Second} {
		bubble(t, "begins at its time when the worker's clock is 45 s "+name, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.store.skew = skew // how far the leader's clock is ahead of the worker's
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(skew+2*time.Second))
			r.give(name)
			r.wantStart(name, 2*time.Second)
		})
	}

	bubble(t, "begins at its time by its own clock if the clocks differ by less than clockError", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.cfg.LeaderNow = func(int64) (time.Time, bool) { return time.Now().Add(clockError), true }
		r.start()
		name := r.store.pending("backup", "a", time.Now().Add(2*time.Second))
		r.give(name)
		r.wantStart(name, 2*time.Second)
	})

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "right": 0, "ahead": -45 * time.Second} {
		for known, begins := range map[bool]time.Duration{true: 0, false: 300 * time.Millisecond} {
			bubble(t, fmt.Sprintf("begins %v late after an order of 300 ms if the clock is %s", begins, name), func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.store.skew, r.store.travel = skew, 300*time.Millisecond
				r.cfg.LeaderNow = func(int64) (time.Time, bool) { return time.Now().Add(skew), known }
				r.start()
				name := r.store.pending("backup", "a", time.Now().Add(skew+2*time.Second))
				r.give(name)
				r.wantStart(name, 2*time.Second+begins)
			})
		}
	}

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "right": 0, "ahead": -45 * time.Second} {
		bubble(t, "is retried by the leader's clock if the worker's clock is "+name, func(t *testing.T) {
			r := newRig(t, func(context.Context, executor.Request) job.Outcome {
				time.Sleep(time.Second)
				return job.Outcome{State: job.Failed, At: time.Now(), Retry: true}
			})
			r.store.define("backup", job.Spec{
				Command: []string{"backup"},
				Retry:   &job.Retry{Max: 1, Backoff: job.BackoffConstant, Min: job.Duration(3 * time.Second), Jitter: job.JitterNone},
			})
			r.store.skew = skew // how far the leader's clock is ahead of the worker's
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(skew))
			r.give(name)
			after(2 * time.Second)
			want := time.Now().Add(skew + 2*time.Second)
			if got := r.wantState(name, job.Pending).Due; !got.Equal(want) {
				t.Errorf("due %v after the failure by the leader's clock, want 3 s", got.Sub(want)+3*time.Second)
			}
		})
	}
}

// TestARetryWaitsAfterALateOrder lets a target ask for a delay. The order of its attempt was under way for longer than usual.
func TestARetryWaitsAfterALateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 15 * time.Second
		r := newRig(t, func(context.Context, executor.Request) job.Outcome {
			return job.Outcome{State: job.Failed, At: time.Now(), Reason: "status 429", Retry: true, After: asked}
		})
		r.cfg.LeaderNow = func(int64) (time.Time, bool) { return time.Now(), true }
		r.store.travel = 10 * time.Second
		r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{Max: 5}})
		r.start()
		name, _ := r.one()
		ended := time.Now()
		after(time.Second)
		if got := r.wantState(name, job.Pending); got.Due.Sub(ended) < asked {
			t.Errorf("the next attempt begins %v after the failure, want at least %v", got.Due.Sub(ended), asked)
		}
	})
}

// TestATimeoutDuringASuspension is about a machine that was suspended for longer than the lease and the timeout. Both are noticed when
// it goes on, and the lease was lost first. An attempt that outlives its session timed out.
func TestATimeoutDuringASuspension(t *testing.T) {
	for _, c := range []struct {
		delivery   job.Delivery
		run, ended job.State
		reason     string
	}{
		{job.AtLeastOnce, job.Pending, job.Lost, "worker lost its lease; timed out after 28s"},
		{job.AtMostOnce, job.TimedOut, job.TimedOut, "timed out after 28s"},
	} {
		t.Run(string(c.delivery), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Hour))
				r.store.define("backup", job.Spec{
					Command: []string{"x"}, Timeout: job.Duration(28 * time.Second), Delivery: c.delivery, Overlap: job.OverlapAllow,
				})
				r.start()
				name, _ := r.one()
				after(27 * time.Second)
				r.wantState(name, job.Running)
				r.sessions.last().cutAt(time.Now().Add(-fakeTTL - 10*time.Second))
				after(1500 * time.Millisecond)
				got := r.wantState(name, c.run)
				if a := got.Attempts[0]; a.State != c.ended || a.Reason != c.reason {
					t.Errorf("the attempt is %s: %s, want %s: %s", a.State, a.Reason, c.ended, c.reason)
				}
			})
		})
	}
}
