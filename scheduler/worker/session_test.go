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
)

// dying returns a function that executes an attempt until d after the end of its context.
func dying(d time.Duration) func(context.Context, executor.Request) job.Outcome {
	return func(ctx context.Context, req executor.Request) job.Outcome {
		<-ctx.Done()
		time.Sleep(d)
		o, _ := executor.Interrupted(ctx, &req, time.Now())
		return o
	}
}

func TestSessionLoss(t *testing.T) {
	bubble(t, "kills at the deadline, and opens the next session when the killed attempts have ended", func(t *testing.T) {
		r := newRig(t, dying(3*time.Second))
		r.start()
		name, _ := r.one()
		after(time.Second)
		first := r.session()
		first.cutOff()
		after(fakeTTL - time.Nanosecond)
		r.wantState(name, job.Running)
		r.store.set(func() {}) // sets no fault: the store still answers
		after(2 * time.Second)
		if r.session() != first || first.isClosed() {
			t.Error("the session was closed or another one opened while a killed attempt was alive")
		}
		r.wantState(name, job.Running)
		after(time.Second + time.Millisecond)
		got := r.wantState(name, job.Pending)
		if len(got.Attempts) != 1 || got.Attempts[0].State != job.Lost || !got.Due.Before(time.Now()) {
			t.Errorf("run = %+v, want one lost attempt, due now", got)
		}
		if r.session() == first || !first.isClosed() {
			t.Error("the session was not closed, or no other one opened")
		}
		r.give(name)
		after(time.Second)
		r.wantState(name, job.Running)
	})

	bubble(t, "kills at once when the lease is known to be gone", func(t *testing.T) {
		r := newRig(t, dying(0))
		r.start()
		name, _ := r.one()
		after(time.Second)
		close(r.session().done)
		after(time.Second)
		r.wantState(name, job.Pending)
		if r.session().id != "s2" {
			t.Errorf("session = %s, want s2", r.session().id)
		}
	})

	for name, canceled := range map[string]bool{"": false, ", also to attempts that are being ended already": true} {
		bubble(t, "leaves no grace at the deadline"+name, func(t *testing.T) {
			r := newRig(t, nil)
			var hurried time.Time
			// It ignores SIGTERM, and its grace is long.
			r.exec.do = func(ctx context.Context, req executor.Request) job.Outcome {
				<-ctx.Done()
				<-req.Hurry
				hurried = time.Now()
				o, _ := executor.Interrupted(ctx, &req, time.Now())
				return o
			}
			r.store.define("backup", job.Spec{Command: []string{"x"}, KillGrace: job.Duration(time.Hour)})
			r.start()
			name, _ := r.one()
			after(time.Second)
			if canceled {
				r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) { return run.Stop(job.Cancel{At: time.Now()}) })
			}
			after(time.Second)
			cut := time.Now()
			r.session().cutOff()
			after(time.Minute)
			if got := hurried.Sub(cut); got != fakeTTL {
				t.Errorf("an attempt that others may repeat had to end %v after the last renewal, want %v", got, fakeTTL)
			}
		})
	}

	bubble(t, "does not wait for the grace of an attempt that ignores its end", func(t *testing.T) {
		r := newRig(t, dying(time.Minute))
		r.store.define("backup", job.Spec{Command: []string{"x"}, KillGrace: job.Duration(time.Hour)})
		r.start()
		r.one()
		after(time.Second)
		close(r.session().done)
		after(executor.HurryGrace + r.cfg.stopTimeout + settleTimeout)
		if r.session().id != "s2" {
			t.Errorf("session = %s, want s2", r.session().id)
		}
		after(time.Minute)
	})

	bubble(t, "drops runs that have not begun", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := r.store.pending("backup", "a", time.Now().Add(time.Second))
		r.give(name)
		after(0)
		close(r.session().done)
		after(2 * time.Second)
		r.wantState(name, job.Armed)
		r.wantExecutions(0)
	})

	t.Run("keeps an attempt from beginning if its claim is answered too late", func(t *testing.T) {
		for _, delivery := range job.Deliveries() {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.store.define("backup", job.Spec{Command: []string{"x"}, Delivery: delivery})
				r.start()
				// The process seems to be suspended before the answer: no timer has fired.
				r.store.wrote = func(run job.Run) {
					if run.State == job.Running {
						r.session().expire()
					}
				}
				name, _ := r.one()
				after(10 * time.Second)
				r.wantExecutions(0)
				r.wantState(name, job.Pending)
			})
		}
	})

	for name, c := range map[string]struct {
		claim fault // result of the claim
		taken bool  // the leader has assigned the run to another worker meanwhile
		want  job.State
	}{
		"was applied":                        {applied, false, job.Pending},
		"was lost":                           {refused, false, job.Pending},
		"was lost, and another worker began": {refused, true, job.Running},
	} {
		t.Run("keeps an attempt from beginning if its claim was never answered and "+name, func(t *testing.T) {
			for _, delivery := range job.Deliveries() {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, lasting(time.Second))
					r.store.define("backup", job.Spec{Command: []string{"x"}, Delivery: delivery})
					r.start()
					writes := 0
					r.store.fault = func(op string, _ *job.Run) fault {
						if op != "write" {
							return none
						}
						if writes++; writes == 1 {
							return c.claim
						}
						return refused
					}
					name, _ := r.one()
					after(time.Second)
					r.session().lose()
					after(time.Second)
					if c.taken {
						r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("worker w1 was lost") })
						r.store.give("w2", "s9", name)
						r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Claim(run.Rev, time.Now()) })
					}
					r.store.answer(none)
					after(10 * time.Second)
					r.wantExecutions(0)
					got := r.wantState(name, c.want)
					if n := len(got.Attempts); (n > 0) == c.taken || n > 0 && !strings.Contains(got.Attempts[0].Reason, job.NotBegun) {
						t.Errorf("attempts = %+v", got.Attempts)
					}
					r.wantJournal(0)
				})
			}
		})
	}

	bubble(t, "delivers outcomes before it gives the session back", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		name := r.store.pending("backup", "a", time.Now())
		closed := 0
		r.sessions.closing = func() {
			closed++
			if got := r.store.get(name).State; got != job.Succeeded {
				t.Errorf("session closed while the run was %s: another worker repeats it", got)
			}
		}
		r.start()
		r.give(name)
		after(500 * time.Millisecond)
		r.store.answer(refused)
		after(time.Second) // the attempt ends during this second
		r.session().lose()
		after(time.Second)
		r.store.answer(none)
		after(5 * time.Second)
		if closed != 1 {
			t.Errorf("%d sessions were closed, want 1", closed)
		}
	})

	bubble(t, "delivers outcomes before the next session opens", func(t *testing.T) {
		r := newRig(t, lasting(3*time.Second))
		r.start()
		name, _ := r.one()
		after(time.Second)
		r.store.answer(refused)
		r.sessions.mu.Lock()
		r.sessions.err = errors.New("store is down")
		r.sessions.opening = func() {
			if got := r.store.get(name).State; got != job.Succeeded {
				t.Errorf("session opened while the run was %s", got)
			}
		}
		r.sessions.mu.Unlock()
		after(4 * time.Second) // the attempt ends during this time
		close(r.session().done)
		after(7 * time.Second)
		r.wantJournal(1)
		r.sessions.mu.Lock()
		r.sessions.err = nil
		r.sessions.mu.Unlock()
		r.store.answer(none)
		after(5 * time.Second)
		r.wantState(name, job.Succeeded)
		if r.session().id != "s2" {
			t.Errorf("session = %s, want s2", r.session().id)
		}
	})
}
