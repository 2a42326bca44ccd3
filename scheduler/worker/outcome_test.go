package worker

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAmbiguousAnswers(t *testing.T) {
	bubble(t, "a claim and an outcome that were applied without an answer count once", func(t *testing.T) {
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

	bubble(t, "a retry that was applied without an answer, and armed since, counts once", func(t *testing.T) {
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
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, lasting(10*time.Second))
			r.start()
			name, order := r.one()
			after(time.Second)
			r.store.change(name, "", func(run job.Run) (job.Run, error) {
				return run.Requeue(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"}, time.Now(), "again")
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
	}
}

// TestAnOutcomeWaitsForAnUnreadableRecord makes the record of an executing run unreadable, and repairs it later.
func TestAnOutcomeWaitsForAnUnreadableRecord(t *testing.T) {
	for name, want := range map[string]struct {
		mend   func(r *rig, name string)
		state  job.State
		events int
	}{
		"until it is put right": {func(r *rig, name string) {
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run, nil }) // rewrites the record at a new revision
		}, job.Succeeded, 0},
		"until it is removed": {func(r *rig, name string) {
			r.store.set(func() { delete(r.store.runs, name) })
		}, "", 1},
	} {
		bubble(t, name, func(t *testing.T) {
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
				t.Error("the end of a session and of the worker would wait for it")
			}
			want.mend(r, name)
			r.store.set(func() { r.store.refuse = nil })
			after(3 * time.Second)
			if got := r.store.get(name); got.State != want.state || len(r.store.eventList()) != want.events {
				t.Errorf("run is %q, events %v, want %q and %d", got.State, r.store.eventList(), want.state, want.events)
			}
			r.wantJournal(0)
		})
	}
}

// giveUp ends the attempt of a run, as a leader does when the run's worker is lost.
func giveUp(run job.Run) (job.Run, error) {
	next, err := run.Requeue(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"}, time.Now(), "again")
	return next.GiveUp(), err
}

func TestTheOutcomeOfALostAttemptIsRecorded(t *testing.T) {
	bubble(t, "if its worker counted it as lost too", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.start()
		name, order := r.one()
		after(time.Second)
		r.session().cutOff()
		after(fakeTTL - time.Nanosecond)
		r.store.change(name, "", giveUp)
		want := r.store.get(name)
		for _, ft := range []fault{refused, applied, none} { // for each of the three calls that record the event
			r.store.set(func() { r.store.fault = only("record", ft) })
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

	bubble(t, "except if it had not begun", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		// As if the process were suspended before the answer for longer than its lease.
		r.store.wrote = func(run job.Run) {
			if run.State == job.Running {
				r.session().expire()
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
