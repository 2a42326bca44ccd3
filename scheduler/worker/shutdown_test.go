package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestShutdown(t *testing.T) {
	bubble(t, "hands back runs that have not begun, lets attempts finish, stops the rest", func(t *testing.T) {
		r := newRig(t, nil)
		r.exec.do = func(ctx context.Context, req executor.Request) job.Outcome {
			d := time.Hour
			if req.Run.ID == "short" {
				d = 10 * time.Second
			}
			return lasting(d)(ctx, req)
		}
		r.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
		r.start()
		short := r.store.pending("backup", "short", time.Now())
		long := r.store.pending("backup", "long", time.Now())
		once := r.store.pending("once", "long", time.Now())
		ahead := r.store.pending("backup", "ahead", time.Now().Add(2*time.Second))
		r.give(short, long, once, ahead)
		after(time.Second)

		begun := time.Now()
		r.stop()
		after(time.Millisecond)
		if got := r.wantState(ahead, job.Pending); got.Reason != string(errDraining) {
			t.Errorf("reason = %q, want %q", got.Reason, errDraining)
		}
		if !r.sessions.shown().Draining {
			t.Error("presence does not say that the worker is draining")
		}
		late := r.store.pending("backup", "late", time.Now())
		r.give(late)
		after(time.Millisecond)
		r.wantState(late, job.Pending)

		r.finish()
		if took := time.Since(begun); took < r.cfg.ShutdownGrace || took > r.cfg.ShutdownGrace+time.Second {
			t.Errorf("Run took %v to end, want the grace of %v", took, r.cfg.ShutdownGrace)
		}
		r.wantState(short, job.Succeeded)
		r.wantState(once, job.Lost)
		if got := r.wantState(long, job.Pending); got.LostAttempts() != 1 {
			t.Errorf("lost attempts = %d, want 1", got.LostAttempts())
		}
		if !r.session().isClosed() {
			t.Error("session is not closed")
		}
		if n := r.store.queued(); n != 0 {
			t.Errorf("%d orders are queued, want none", n)
		}
	})

	bubble(t, "without a grace stops at once", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.cfg.ShutdownGrace = 0
		r.start()
		name, _ := r.one()
		after(time.Second)
		if took := r.finish(); took > time.Second {
			t.Errorf("Run took %v to end", took)
		}
		r.wantState(name, job.Pending)
	})

	bubble(t, "begins nothing more", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.cfg.ShutdownGrace = 0
		stopped := false
		r.store.jobRev = 1
		r.cfg.Known = func(name string, _ int64) (*job.Job, bool) { // the last call before the claim of the due run
			j, err := r.store.Job(context.Background(), name)
			if run := r.store.get("backup/a"); !stopped && run.Rev > 0 && !time.Now().Before(run.Due) {
				stopped = true
				r.stop()
				time.Sleep(time.Millisecond) // the worker drains and counts no executing attempt
			}
			return &j, err == nil
		}
		r.start()
		name := r.store.pending("backup", "a", time.Now().Add(time.Nanosecond))
		r.give(name)
		after(time.Second)
		r.finish()
		if !stopped {
			t.Fatal("the worker was not stopped, so the test proves nothing")
		}
		r.wantExecutions(0)
		if got := r.wantState(name, job.Pending); got.LostAttempts() != 0 {
			t.Errorf("lost attempts = %d, want none", got.LostAttempts())
		}
	})

	bubble(t, "still receives requests to stop", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.stop()
		after(time.Second)
		r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) { return run.Stop(job.Cancel{At: time.Now()}) })
		after(time.Second)
		r.wantState(name, job.Canceled)
	})

	bubble(t, "keeps an attempt from beginning if its claim succeeds after the grace", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
		r.start()
		r.store.set(func() { r.store.fault = only("write", refused) })
		name := r.store.pending("once", "a", time.Now())
		r.give(name)
		after(time.Second)
		r.stop()
		after(r.cfg.ShutdownGrace + 100*time.Millisecond)
		r.store.answer(none)
		r.finish()
		r.wantState(name, job.Pending)
		r.wantExecutions(0)
	})

	bubble(t, "waits for an attempt whose claim is answered after the attempts had to end", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
		var slow atomic.Bool
		r.cfg.Now = func() time.Time { // of a busy machine, where the attempt needs longer to end than the shift
			if slow.Load() {
				time.Sleep(time.Millisecond)
			}
			return time.Now()
		}
		r.start()
		r.store.set(func() { r.store.fault = only("write", refused) })
		name := r.store.pending("once", "a", time.Now())
		r.give(name)
		after(time.Second)
		r.stop()
		after(r.cfg.ShutdownGrace + r.cfg.stopTimeout + 2*time.Second)
		slow.Store(true)
		r.store.answer(none)
		r.finish()
		r.wantState(name, job.Pending)
		r.wantExecutions(0)
	})

	bubble(t, "is bounded when the store does not answer", func(t *testing.T) {
		r := newRig(t, lasting(5*time.Second))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.answer(refused)
		if took := r.finish(); took > 20*time.Second {
			t.Errorf("Run took %v to end", took)
		}
		r.wantState(name, job.Running)
		r.wantJournal(1)
	})

	bubble(t, "ends at once without a session", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.sessions.err = errors.New("no lease")
		r.start()
		after(time.Minute)
		if took := r.finish(); took > time.Second {
			t.Errorf("Run took %v to end", took)
		}
	})
}
