package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestALeaderThatHearsLateGivesNothingUp lets a worker put its record back while the feed of the leader lags. The leader gives the
// attempt up, and the store refuses that. So either the worker learns that its attempt is over, or it goes on.
func TestALeaderThatHearsLateGivesNothingUp(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Delivery: job.AtMostOnce})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	claimed := r.claim(d.Run.Name(), 0)
	r.store.remove(job.RecordWorker, "w")
	r.feed()
	r.now = r.now.Add(999 * time.Millisecond)
	r.expectNone()
	r.worker("w", 1) // the same session; the feed has not brought it yet
	r.now = r.now.Add(time.Millisecond)
	d = r.plan()
	if d.Run == nil || d.Run.State != job.Lost || !d.GaveUp || !d.Run.Attempts[0].GivenUp {
		t.Fatalf("got %+v, want the attempt given up, and marked so", d)
	}
	if a := r.commit(d); a.Err == nil {
		t.Fatal("the store accepted it, though the worker is present")
	} else {
		r.Resolve(d, a, r.now)
	}
	r.feed()
	for range 60 {
		r.now = r.now.Add(500 * time.Millisecond)
		r.expectNone()
	}
	if got := r.store.run(claimed.Name()); got.State != job.Running {
		t.Errorf("the run is %s, want it to run on", got.State)
	}
}

// The leader takes a run back whose attempt has not begun. It gives up no attempt, also none of those that have ended before.
func TestAnAttemptThatHasNotBegunIsNotGivenUp(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	claimed := r.claim(d.Run.Name(), 0)
	again, err := claimed.Requeue(job.Outcome{State: job.Failed, At: r.now}, r.now, "retry")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.writeRun(again); err != nil {
		t.Fatal(err)
	}
	r.feed()
	d = r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.store.remove(job.RecordWorker, "w")
	r.feed()
	r.now = r.now.Add(time.Second)
	d = r.plan()
	if d.Run == nil || d.Run.State != job.Pending || d.GaveUp || d.Run.Attempts[0].GivenUp {
		t.Fatalf("got %+v, want the second attempt taken back, and none given up", d)
	}
}
