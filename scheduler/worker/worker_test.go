package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAttempt(t *testing.T) {
	t.Run("is executed once with its order's revision as token", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name, order := r.one()
			after(100 * time.Millisecond)
			running := r.wantState(name, job.Running)
			if running.Token != order.Rev || !running.Started.Equal(order.Runs[0].Due) {
				t.Errorf("claimed with token %d at %v, want %d at %v", running.Token, running.Started, order.Rev, order.Runs[0].Due)
			}
			if running.Bound < job.DefaultTimeout {
				t.Errorf("claimed for %v, want the record to say how long it may take", running.Bound)
			}
			after(time.Second)
			got := r.wantState(name, job.Succeeded)
			if got.Output != "done" || len(got.Attempts) != 1 || got.Attempts[0].Token != order.Rev {
				t.Errorf("run = %+v, want output and one attempt with token %d", got, order.Rev)
			}
			req := r.wantExecutions(1)[0]
			if want := running.Started.Add(24 * time.Hour); !req.Deadline.Equal(want) {
				t.Errorf("deadline = %v, want %v", req.Deadline, want)
			}
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are queued, want none", n)
			}
			after(2 * time.Second)
			r.wantJournal(0)
			if log, err := r.w.Log(name, 1); err != nil {
				t.Error(err)
			} else {
				log.Close()
			}
		})
	})

	t.Run("is claimed before its time and begins at it when it was armed ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			due := time.Now().Add(2 * time.Second)
			name := r.store.pending("backup", "a", due)
			r.give(name)
			r.wantBeginning(name, 2*time.Second)
			if got := r.store.get(name).Started; !got.Equal(due) {
				t.Errorf("started at %v, want %v", got, due)
			}
		})
	})

	for rev, want := range map[int64]job.State{7: job.Running, 8: job.Pending} {
		t.Run(fmt.Sprintf("is %s at its time when it was armed ahead by revision 7 of its job and %d is known when it is claimed", want, rev), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.store.jobRev = 7
				due := time.Now().Add(2 * time.Second)
				r.cfg.Known = func(name string, least int64) (*job.Job, bool) {
					j := r.store.jobs[name]
					if j.Rev = 7; !time.Now().Before(due.Add(-minLead)) {
						j.Rev = rev
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
					t.Errorf("handed back since %q", got.Reason)
				}
				r.wantExecutions(map[job.State]int{job.Running: 1}[want])
			})
		})
	}

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "ahead": -45 * time.Second} {
		t.Run("begins at its time when the worker's clock is 45 s "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.store.skew = skew // of the leader's clock against ours
				r.start()
				name := r.store.pending("backup", "a", time.Now().Add(skew+2*time.Second))
				r.give(name)
				r.wantBeginning(name, 2*time.Second)
			})
		})
	}

	t.Run("does not begin before its time by a clock that differs from the leader's no more than can be known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.cfg.LeaderNow = func(int64) (time.Time, bool) { return time.Now().Add(clockError), true }
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(2*time.Second))
			r.give(name)
			r.wantBeginning(name, 2*time.Second)
		})
	})

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "right": 0, "ahead": -45 * time.Second} {
		for known, begins := range map[bool]time.Duration{true: 0, false: 300 * time.Millisecond} {
			t.Run(fmt.Sprintf("begins %v after its time when the order took 300 ms, with a clock that is %s", begins, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, lasting(time.Second))
					r.store.skew, r.store.travel = skew, 300*time.Millisecond
					r.cfg.LeaderNow = func(int64) (time.Time, bool) { return time.Now().Add(skew), known }
					r.start()
					name := r.store.pending("backup", "a", time.Now().Add(skew+2*time.Second))
					r.give(name)
					r.wantBeginning(name, 2*time.Second+begins)
				})
			})
		}
	}

	for name, skew := range map[string]time.Duration{"behind": 45 * time.Second, "right": 0, "ahead": -45 * time.Second} {
		t.Run("is tried again after its pause by the leader's clock when the worker's is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(context.Context, executor.Request) job.Outcome {
					time.Sleep(time.Second)
					return job.Outcome{State: job.Failed, At: time.Now(), Retry: true}
				})
				r.store.define("backup", job.Spec{
					Command: []string{"backup"},
					Retry:   &job.Retry{Max: 1, Backoff: job.BackoffConstant, Min: job.Duration(3 * time.Second), Jitter: job.JitterNone},
				})
				r.store.skew = skew // of the leader's clock against ours
				r.start()
				name := r.store.pending("backup", "a", time.Now().Add(skew))
				r.give(name)
				after(2 * time.Second)
				want := time.Now().Add(skew + 2*time.Second)
				if got := r.wantState(name, job.Pending).Due; !got.Equal(want) {
					t.Errorf("due %v after the failure by the leader's clock, want 3 s", got.Sub(want)+3*time.Second)
				}
			})
		})
	}

	t.Run("is executed once when its order is delivered twice, early and late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(10*time.Second))
			r.start()
			name, order := r.one()
			r.store.again(order)
			after(time.Second)
			r.store.again(order)
			after(2 * orderMemory)
			r.one()
			after(time.Minute)
			r.store.again(order) // forgotten by now
			after(time.Minute)
			r.wantState(name, job.Succeeded)
			r.wantExecutions(2)
		})
	})

	t.Run("leaves no order in the queue when that comes into being once more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(10*time.Second))
			r.start()
			_, order := r.one()
			after(time.Second)
			r.store.again(order) // and is there again, as after a request that is applied twice
			after(time.Second)
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are left, want none", n)
			}
			r.wantExecutions(1)
		})
	})

	t.Run("is executed once when its order is redelivered as it runs and was forgotten", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Hour))
			r.start()
			_, order := r.one()
			after(2 * orderMemory)
			other := r.store.pending("backup", "b", time.Now())
			r.give(other) // lets the closer sweep
			after(time.Second)
			r.store.again(order)
			after(time.Second)
			r.wantExecutions(2)
		})
	})

	t.Run("is not executed when its run was changed before the claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(time.Second))
			r.give(name)
			after(0)
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("paused") })
			after(5 * time.Second)
			r.wantState(name, job.Pending)
			r.wantExecutions(0)
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are queued, want none", n)
			}
		})
	})

	t.Run("is claimed with the later token when its run was armed for us anew", func(t *testing.T) {
		for _, told := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.start()
				name := r.store.pending("backup", "a", time.Now().Add(time.Second))
				r.give(name)
				after(0)
				if told {
					r.give(name)
				} else {
					r.store.change(name, "", func(run job.Run) (job.Run, error) { return run, nil })
				}
				rev := r.store.get(name).Rev
				after(1500 * time.Millisecond)
				if got := r.wantState(name, job.Running).Token; got != rev {
					t.Errorf("token = %d, want %d", got, rev)
				}
				after(time.Second)
				r.wantExecutions(1)
			})
		}
	})

	t.Run("is not executed for another session", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := r.store.pending("backup", "a", time.Now())
			r.store.give("w1", "s0", name)
			after(time.Second)
			r.wantState(name, job.Armed)
			r.wantExecutions(0)
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are queued, want none", n)
			}
		})
	})

	t.Run("times out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Hour))
			r.store.define("backup", job.Spec{Command: []string{"x"}, Timeout: job.Duration(time.Minute)})
			r.start()
			name, _ := r.one()
			after(time.Minute)
			r.wantState(name, job.TimedOut)
		})
	})

	t.Run("that failed waits for the next as its policy says", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, failing)
			r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{
				Max: 2, Backoff: job.BackoffLinear, Min: job.Duration(time.Minute), Jitter: job.JitterNone,
			}})
			r.start()
			name, _ := r.one()
			for n := 1; n <= 2; n++ {
				begun := time.Now()
				after(time.Second)
				got := r.wantState(name, job.Pending)
				if want := begun.Add(time.Duration(n) * time.Minute); !got.Due.Equal(want) {
					t.Errorf("retry %d is due at %v, want %v", n, got.Due, want)
				}
				time.Sleep(time.Until(got.Due))
				r.give(name)
			}
			after(time.Second)
			got := r.wantState(name, job.Failed)
			if want := "exit code 1; gave up after 2 retries"; got.Reason != want || len(got.Attempts) != 3 {
				t.Errorf("ended with %q after %d attempts, want %q after 3", got.Reason, len(got.Attempts), want)
			}
		})
	})

	t.Run("of a deleted job is canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := r.store.pending("gone", "a", time.Now())
			r.give(name)
			after(time.Second)
			if got := r.wantState(name, job.Canceled); got.Reason != "job deleted" {
				t.Errorf("reason = %q, want job deleted", got.Reason)
			}
			r.wantExecutions(0)
		})
	})

	t.Run("of an ad hoc run needs no job", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := r.store.pending(job.AdHoc, "a", time.Now())
			spec := job.Spec{Command: []string{"true"}}.WithDefaults()
			r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Spec = &spec; return run, nil })
			r.give(name)
			after(2 * time.Second)
			r.wantState(name, job.Succeeded)
		})
	})

	t.Run("does what its job says after an edit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Millisecond))
			r.start()
			r.one()
			after(10 * time.Millisecond)
			r.store.define("backup", job.Spec{Command: []string{"new"}})
			name := r.store.pending("backup", "b", time.Now())
			r.give(name)
			after(10 * time.Millisecond)
			if got := r.wantExecutions(2)[1].Spec.Command[0]; got != "new" {
				t.Errorf("executed %q, want new", got)
			}
		})
	})

	t.Run("is handed back when its definition cannot be read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.store.fault = func(op string, _ *job.Run) fault {
				if op == "job" {
					return refused
				}
				return none
			}
			r.start()
			name, _ := r.one()
			after(definitionTimeout + time.Second)
			if got := r.wantState(name, job.Pending); got.Reason != string(errNoSpec) {
				t.Errorf("reason = %q, want %q", got.Reason, errNoSpec)
			}
		})
	})
}

func TestAmbiguousAnswers(t *testing.T) {
	t.Run("a claim and an outcome that were applied without our hearing count once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.store.fault = once("write", applied)
			r.start()
			name, _ := r.one()
			after(3 * time.Second)
			r.wantState(name, job.Succeeded)
			r.wantExecutions(1)
			if got := r.store.eventList(); len(got) != 0 {
				t.Errorf("events = %v, want none", got)
			}
			after(2 * time.Second)
			r.wantJournal(0)
		})
	})

	t.Run("a retry that was applied without our hearing, and armed since, counts once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, failing)
			r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{Max: 1, Jitter: job.JitterNone}})
			r.store.fault = once("write", applied)
			r.start()
			r.store.wrote = func(run job.Run) {
				if run.State == job.Pending && run.Attempt == 1 {
					go r.give(run.Name())
				}
			}
			name, _ := r.one()
			after(10 * time.Second)
			r.wantState(name, job.Failed)
			r.wantExecutions(2)
			if got := r.store.eventList(); len(got) != 0 {
				t.Errorf("events = %v, want none", got)
			}
		})
	})
}

// once makes the first call of op for each state of a run end with ft.
func once(op string, ft fault) func(string, *job.Run) fault {
	seen := make(map[string]bool)
	return func(got string, run *job.Run) fault {
		if got != op || seen[fmt.Sprint(run.Name(), run.State, run.Attempt)] {
			return none
		}
		seen[fmt.Sprint(run.Name(), run.State, run.Attempt)] = true
		return ft
	}
}

func TestStop(t *testing.T) {
	cancel := func(run job.Run) (job.Run, error) {
		return run.Stop(job.Cancel{At: time.Now(), By: "me", Reason: "enough"})
	}

	t.Run("cancels what executes, onto the record that asks for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})

	t.Run("ends what is armed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})

	t.Run("has no effect when its change was refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})

	t.Run("of an earlier attempt does not touch the present one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})

	t.Run("a canceled run is not tried again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestCapacity(t *testing.T) {
	t.Run("is never exceeded, and what finds no room is handed back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Minute))
			r.start()
			var names []string
			for i := range 6 {
				names = append(names, r.store.pending("backup", fmt.Sprint(i), time.Now()))
			}
			r.give(names...)
			after(DefaultRoomTimeout + time.Second)
			states := make(map[job.State]int)
			for _, name := range names {
				got := r.store.get(name)
				states[got.State]++
				if got.State == job.Pending && (got.Reason != string(errNoRoom) || got.Attempt != 0) {
					t.Errorf("run was handed back with %q as attempt %d", got.Reason, got.Attempt)
				}
			}
			if states[job.Running] != 4 || states[job.Pending] != 2 {
				t.Errorf("states = %v, want 4 running and 2 pending", states)
			}
			if r.exec.max != 4 {
				t.Errorf("%d executed at a time, want 4", r.exec.max)
			}
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are queued, want none", n)
			}
		})
	})

	t.Run("what was given ahead and finds no room when its time has come is to be dispatched, not decided anew", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Minute))
			r.start()
			var names []string
			for i := range 5 {
				name := r.store.pending("backup", fmt.Sprint(i), time.Now().Add(time.Second))
				r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Ahead = true; return run, nil })
				names = append(names, name)
			}
			r.give(names...)
			after(time.Second + DefaultRoomTimeout + time.Second)
			pending := 0
			for _, name := range names {
				got := r.store.get(name)
				if got.State == job.Pending {
					pending++
				}
				if got.Ahead {
					t.Errorf("run %s is %s, and still ahead of its time", name, got.State)
				}
			}
			if pending != 1 {
				t.Errorf("%d runs are pending, want one", pending)
			}
		})
	})

	t.Run("a thousand orders are all executed once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Millisecond))
			r.cfg.Capacity = 1000
			r.start()
			tokens := make(map[int64]bool)
			for i := range 1000 {
				r.give(r.store.pending("backup", fmt.Sprint(i), time.Now()))
			}
			after(5 * time.Second)
			for _, req := range r.wantExecutions(1000) {
				if tokens[req.Run.Token] {
					t.Fatalf("token %d was executed twice", req.Run.Token)
				}
				tokens[req.Run.Token] = true
				r.wantState(req.Run.Name(), job.Succeeded)
			}
			if n := r.store.queued(); n != 0 {
				t.Errorf("%d orders are queued, want none", n)
			}
			r.wantJournal(0)
		})
	})
}

func TestFencedOutcome(t *testing.T) {
	for name, move := range map[string]func(r *rig, name string){
		"given to another": func(*rig, string) {},
		"begun by another": func(r *rig, name string) {
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Claim(run.Rev, time.Now()) })
		},
		"begun by another, to start at the same instant": func(r *rig, name string) {
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Claim(run.Rev, run.Attempts[0].Started) })
		},
		"begun by another, with the same token": func(r *rig, name string) { // in a store from a backup
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Claim(run.Attempts[0].Token, time.Now()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(10*time.Second))
				r.start()
				name, order := r.one()
				after(time.Second)
				r.store.change(name, "", func(run job.Run) (job.Run, error) {
					return run.Again(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"}, time.Now(), "again")
				})
				r.store.give("w2", "other", name)
				move(r, name)
				want := r.store.get(name)
				after(10 * time.Second)
				if got := r.store.get(name); got.Rev != want.Rev {
					t.Errorf("run was changed to %+v", got)
				}
				events := r.store.eventList()
				if len(events) != 1 {
					t.Fatalf("events = %v, want one", events)
				}
				ev := events[0]
				if ev.Kind != job.EventFenced || ev.Run != name || ev.Token != order.Rev || ev.Worker != "w1" || ev.State != job.Succeeded || ev.Attempt != 1 {
					t.Errorf("event = %+v", ev)
				}
				after(2 * time.Second)
				r.wantJournal(0)
			})
		})
	}
}

// A hand puts what nobody can read in the place of a run at work, and later what was there before.
func TestAnOutcomeWaitsForARecordThatNobodyCanRead(t *testing.T) {
	for name, want := range map[string]struct {
		mend   func(r *rig, name string)
		state  job.State
		events int
	}{
		"until it is put right": {func(r *rig, name string) {
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run, nil }) // at another revision
		}, job.Succeeded, 0},
		"until it is removed": {func(r *rig, name string) {
			r.store.set(func() { delete(r.store.runs, name) })
		}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(10*time.Second))
				r.start()
				name, _ := r.one()
				after(time.Second)
				r.store.set(func() { r.store.refuse = func(*job.Run) error { return job.ErrUnreadable } })
				after(time.Minute)
				if got := r.store.get(name); got.State != job.Running || len(r.store.eventList()) > 0 {
					t.Errorf("run is %s, events %v", got.State, r.store.eventList())
				}
				r.wantJournal(1)
				if n := r.w.unsent.count(); n > 0 {
					t.Error("sessions and a stop would wait for it")
				}
				want.mend(r, name)
				r.store.set(func() { r.store.refuse = nil })
				after(3 * time.Second)
				if got := r.store.get(name); got.State != want.state || len(r.store.eventList()) != want.events {
					t.Errorf("run is %q, events %v, want %q and %d", got.State, r.store.eventList(), want.state, want.events)
				}
				r.wantJournal(0)
			})
		})
	}
}

// giveUp has the leader take the worker of a run for lost.
func giveUp(run job.Run) (job.Run, error) {
	next, err := run.Again(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"}, time.Now(), "again")
	return next.GiveUp(), err
}

func TestWhatBecameOfALostAttemptIsKept(t *testing.T) {
	t.Run("also when its worker has taken it for lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Hour))
			r.start()
			name, order := r.one()
			after(time.Second)
			r.session().cutOff()
			after(fakeTTL - time.Nanosecond)
			r.store.change(name, "", giveUp)
			want := r.store.get(name)
			for _, ft := range []fault{refused, applied, none} { // how the event fares
				r.store.set(func() {
					r.store.fault = func(op string, _ *job.Run) fault {
						if op == "record" {
							return ft
						}
						return none
					}
				})
				after(10 * time.Second)
			}
			if got := r.store.get(name); got.Rev != want.Rev {
				t.Errorf("run was changed to %+v", got)
			}
			events := r.store.eventList()
			if len(events) != 1 || events[0].Token != order.Rev || events[0].State != job.Lost {
				t.Errorf("events = %+v, want that of the lost attempt", events)
			}
			r.wantJournal(0)
		})
	})

	t.Run("but not of one that had not begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			// As when the process is stopped while the answer is on its way, for longer than its lease.
			r.store.wrote = func(run job.Run) {
				if run.State == job.Running {
					s := r.session()
					s.mu.Lock()
					s.cut = time.Now().Add(-fakeTTL)
					s.mu.Unlock()
					next, _ := giveUp(run)
					r.store.rev++
					r.store.runs[run.Name()] = stored(next, r.store.rev)
				}
			}
			r.one()
			after(10 * time.Second)
			r.wantExecutions(0)
			if events := r.store.eventList(); len(events) != 0 {
				t.Errorf("events = %+v, want none", events)
			}
			r.wantJournal(0)
		})
	})
}

func TestRecordTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, failing)
		r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{Max: 5}})
		r.store.refuse = func(run *job.Run) error {
			if run.State != job.Running && len(run.Payload) > 0 {
				return job.ErrTooLarge
			}
			return nil
		}
		r.start()
		name := r.store.pending("backup", "a", time.Now())
		r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Payload = []byte(`"x"`); return run, nil })
		r.give(name)
		after(5 * time.Second)
		if got := r.wantState(name, job.Failed); !strings.Contains(got.Reason, "too large") {
			t.Errorf("reason = %q, want it to say too large", got.Reason)
		}
	})
}

func TestALongReasonIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, executor.Request) job.Outcome {
			return job.Outcome{State: job.Failed, Reason: strings.Repeat("ä", 1<<20)}
		})
		r.start()
		name, _ := r.one()
		after(5 * time.Second)
		got := r.wantState(name, job.Failed).Reason
		if !strings.HasSuffix(got, "ä…") || !utf8.ValidString(got) || len(got) > maxReason+len("…") {
			t.Errorf("reason: got %d bytes that end in %q", len(got), got[max(0, len(got)-8):])
		}
	})
}

func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name, _ := r.one()
		after(100 * time.Millisecond)
		r.store.set(func() { r.store.refuse = func(*job.Run) error { return job.ErrFull } })
		after(time.Minute)
		r.wantState(name, job.Running)
		r.wantJournal(1)
		r.store.set(func() { r.store.refuse = nil })
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
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
		if err := r.finish(); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("Run() = %v, want the attempt left behind", err)
		}
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("Run took %v to end", took)
		}
		time.Sleep(time.Hour)
	})
}
