package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// kindRig is a worker whose jobs of the kind container need an engine. The check and the attempts see whether it answers.
func kindRig(t *testing.T) (r *rig, attempts, check *atomic.Bool) {
	attempts, check = new(atomic.Bool), new(atomic.Bool)
	r = newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
		if req.Spec.Kind() == "container" && !attempts.Load() {
			return executor.KindAway(errors.New("connect: no such file or directory"))
		}
		return lasting(time.Second)(ctx, req)
	})
	r.cfg.KindCheck = func(_ context.Context, kind string) error {
		if kind == "container" && !check.Load() {
			return errors.New("connect: no such file or directory")
		}
		return nil
	}
	return r, attempts, check
}

// container makes the job of one a container.
func (r *rig) container() {
	r.store.define("backup", job.Spec{Container: &job.Container{Image: "busybox"}})
}

// TestAKindWithoutItsEngineStopsNoOtherKind lets a worker be without an engine.
func TestAKindWithoutItsEngineStopsNoOtherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, attempts, check := kindRig(t)
		r.container()
		r.store.define("report", job.Spec{Command: []string{"report"}})
		r.start()
		name, _ := r.one()
		after(0)
		if got := r.wantState(name, job.Pending); len(got.Attempts) != 1 || got.Attempts[0].State != job.Lost {
			t.Errorf("attempts = %+v, want one that was lost", got.Attempts)
		}
		shown := r.sessions.shown()
		if why := shown.Away["container"]; shown.Draining || r.w.Refuses() != nil || why != "connect: no such file or directory" {
			t.Errorf("got %v, shown %+v, want a worker without the kind container alone", r.w.Refuses(), shown)
		}
		// A leader that does not know the kinds that are away gives the run to the worker again.
		r.give(name)
		command := r.store.pending("report", "a", time.Now())
		r.give(command)
		after(roomTimeout - time.Millisecond)
		r.wantState(name, job.Armed)
		r.wantState(command, job.Running)
		after(2 * time.Millisecond)
		if got := r.wantState(name, job.Pending); got.Reason != string(errKindAway) {
			t.Errorf("run was handed back with %q, want %q", got.Reason, errKindAway)
		}
		after(time.Minute)
		r.wantState(command, job.Succeeded)
		r.wantExecutions(2)
		if n := r.sessions.changes(); n != 1 {
			t.Errorf("the presence was changed %d times, want once", n)
		}
		attempts.Store(true)
		check.Store(true)
		after(2 * time.Second)
		if shown := r.sessions.shown(); len(shown.Away) > 0 {
			t.Errorf("shown %+v, want no kind that is away", shown)
		}
		r.give(name)
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
	})
}

// TestARunWaitsForTheReturnOfItsKind lets the engine answer while a run waits at the worker.
func TestARunWaitsForTheReturnOfItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, attempts, check := kindRig(t)
		r.container()
		r.start()
		name, _ := r.one()
		after(500 * time.Millisecond)
		attempts.Store(true)
		check.Store(true)
		r.give(name)
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
		r.wantExecutions(2)
	})
}

// TestARunFromBeforeItsKindWentAwayIsHandedBack arms a run ahead, and lets its kind go away before its time. Another worker may have
// the kind.
func TestARunFromBeforeItsKindWentAwayIsHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := kindRig(t)
		r.container()
		r.start()
		early := r.store.pending("backup", "early", time.Now().Add(2*time.Second))
		r.give(early)
		after(time.Second)
		r.one()
		after(time.Second)
		if got := r.wantState(early, job.Pending); got.Reason != string(errKindAway) || got.Attempt != 0 {
			t.Errorf("run was handed back with %q after attempt %d, want %q at its time", got.Reason, got.Attempt, errKindAway)
		}
		r.wantExecutions(1)
	})
}

// TestARunThatWaitsForAPlaceDoesNotOutliveItsKind lets attempts find out that their kind is away, while a run waits for their places.
func TestARunThatWaitsForAPlaceDoesNotOutliveItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, executor.Request) job.Outcome {
			time.Sleep(3 * time.Second)
			return executor.KindAway(errors.New("connect: no such file or directory"))
		})
		r.cfg.KindCheck = func(context.Context, string) error { return errors.New("connect: no such file or directory") }
		r.container()
		r.start()
		var names []string
		for i := range r.cfg.Capacity {
			names = append(names, r.store.pending("backup", fmt.Sprint(i), time.Now()))
		}
		r.give(names...)
		after(2500 * time.Millisecond)
		waits := r.store.pending("backup", "waits", time.Now())
		r.give(waits)
		after(5 * time.Second)
		if got := r.wantState(waits, job.Pending); got.Reason != string(errKindAway) || got.Attempt != 0 {
			t.Errorf("run was handed back with %q after attempt %d, want %q", got.Reason, got.Attempt, errKindAway)
		}
		r.wantExecutions(r.cfg.Capacity)
	})
}

// TestAnEngineThatOnlyAnswersTheCheck simulates an engine that begins no container although it answers. The changes of the presence
// are writes to the store, so they must be few.
func TestAnEngineThatOnlyAnswersTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, attempts, check := kindRig(t)
		check.Store(true)
		r.container()
		r.start()
		name, _ := r.one()
		const minutes = 20
		for range minutes * 60 {
			after(time.Second)
			if r.store.get(name).State == job.Pending {
				r.give(name)
			}
		}
		if n := r.sessions.changes(); n < minutes || n > 3*minutes {
			t.Errorf("the presence was changed %d times in %d minutes, want twice a minute", n, minutes)
		}
		attempts.Store(true)
		after(2 * awayMost)
		if r.store.get(name).State == job.Pending {
			r.give(name)
		}
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
	})
}
