package worker

import (
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestCapacity(t *testing.T) {
	bubble(t, "is never exceeded, and a run without room is handed back", func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.start()
		var names []string
		for i := range 6 {
			names = append(names, r.store.pending("backup", fmt.Sprint(i), time.Now()))
		}
		r.give(names...)
		after(roomTimeout + time.Second)
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

	bubble(t, "a run that was armed ahead and finds no room is dispatched again", func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.start()
		var names []string
		for i := range 5 {
			name := r.store.pending("backup", fmt.Sprint(i), time.Now().Add(time.Second))
			r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Ahead = true; return run, nil })
			names = append(names, name)
		}
		r.give(names...)
		after(time.Second + roomTimeout + time.Second)
		pending := 0
		for _, name := range names {
			got := r.store.get(name)
			if got.State == job.Pending {
				pending++
			}
			if got.Ahead {
				t.Errorf("run %s is %s, and still marked as ahead of its time", name, got.State)
			}
		}
		if pending != 1 {
			t.Errorf("%d runs are pending, want one", pending)
		}
	})

	bubble(t, "a run that was armed ahead and is handed back before its time has its slot decided again", func(t *testing.T) {
		r := newRig(t, lasting(time.Minute))
		r.cfg.StartCheck = func() error { return syscall.EAGAIN }
		r.start()
		r.w.startFailed(syscall.EAGAIN)
		name := r.store.pending("backup", "0", time.Now().Add(time.Second))
		r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Ahead = true; return run, nil })
		r.give(name)
		after(2 * time.Second)
		if got := r.wantState(name, job.Pending); !got.Ahead || got.Reason != string(errCannotStart) {
			t.Errorf("got %+v, want it handed back, and marked as ahead of its time", got)
		}
	})

	bubble(t, "a thousand orders are all executed once", func(t *testing.T) {
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

// TestAClaimThatAFullStoreDelayedRecordsItsStart arms a run at a store that is full for longer than the timeout of the job.
func TestAClaimThatAFullStoreDelayedRecordsItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.store.define("backup", job.Spec{Command: []string{"x"}, Timeout: job.Duration(5 * time.Minute)})
		r.start()
		r.store.set(func() { r.store.refuse = func(*job.Run) error { return job.ErrFull } })
		name, _ := r.one()
		after(10 * time.Minute)
		r.store.set(func() { r.store.refuse = nil })
		room := time.Now()
		after(5 * time.Second)
		if got := r.wantState(name, job.Succeeded); got.Attempts[0].Started.Before(room) {
			t.Errorf("the record says that the attempt started at %v, want after %v", got.Attempts[0].Started, room)
		}
		if deadline := r.wantExecutions(1)[0].Deadline; deadline.Before(room.Add(5 * time.Minute)) {
			t.Errorf("the attempt had the deadline %v", deadline)
		}
		if bound := r.wantExecutions(1)[0].Run.Bound.Std(); bound < 15*time.Minute {
			t.Errorf("a leader that counts from the arming finds it overdue after %v", bound)
		}
	})
}

// TestAClaimThatMayHaveBeenAppliedKeepsItsStart lets a full store leave open whether it applied the first send of a claim.
func TestAClaimThatMayHaveBeenAppliedKeepsItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.store.define("backup", job.Spec{Command: []string{"x"}, Timeout: job.Duration(5 * time.Minute)})
		r.start()
		unknown := true
		r.store.set(func() {
			r.store.refuse = func(*job.Run) error {
				if unknown {
					unknown = false
					return fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, job.ErrFull)
				}
				return job.ErrFull
			}
		})
		sent := time.Now()
		name, _ := r.one()
		after(10 * time.Minute)
		r.store.set(func() { r.store.refuse = nil })
		after(5 * time.Second)
		req := r.wantExecutions(1)[0]
		if bound := req.Run.Bound.Std(); bound < 15*time.Minute {
			t.Errorf("a leader finds it overdue %v after the first send", bound)
		}
		if least := sent.Add(15 * time.Minute); req.Deadline.Before(least) {
			t.Errorf("the deadline of the job is %v, want %v or later", req.Deadline, least)
		}
		if got := r.wantState(name, job.Succeeded).Attempts[0].Started; got.After(sent.Add(time.Second)) {
			t.Errorf("the record says %v, and the first send said %v or soon after", got, sent)
		}
	})
}
