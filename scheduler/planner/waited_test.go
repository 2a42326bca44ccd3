package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestARunWaitsNoLongerAtALostWorker loses the worker of a run that has not begun, after the start_within of its job. Another worker
// has room. The run is skipped, as if none had.
func TestARunWaitsNoLongerAtALostWorker(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, StartWithin: job.Duration(5 * time.Second)})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	if r.Resolve(d, r.commit(d), r.now); d.Run.State != job.Armed {
		t.Fatalf("got %s, want it armed", d.Run.State)
	}
	r.now = r.now.Add(6 * time.Second)
	r.store.endWorker("w")
	r.worker("other", 1)
	r.feed()
	for range 2 {
		for _, next := range r.Plan(r.now, 10) {
			r.Resolve(next, r.commit(next), r.now)
		}
	}
	if got := r.store.run(d.Run.Name()); got.State != job.Skipped {
		t.Errorf("the run is %s: %s, want it skipped", got.State, got.Reason)
	}
}
