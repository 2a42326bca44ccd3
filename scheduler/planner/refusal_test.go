package planner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOnlyARunThatIsTooLargeIsCanceled refuses the assignment of a waiting run for other reasons. The run is assigned later.
func TestOnlyARunThatIsTooLargeIsCanceled(t *testing.T) {
	for _, err := range []error{job.ErrFull, job.ErrConflict} {
		r := newRig(t)
		r.define("j", job.Spec{Every: job.Duration(time.Hour)})
		r.worker("w", 1)
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/now", Value: &job.Run{
			Job: "j", ID: "now", Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending,
		}})
		r.lead()
		r.feed()
		for range 3 {
			d := r.plan()
			if d.Run == nil || d.Run.ID != "now" || d.Run.State != job.Armed {
				t.Fatalf("after %v: got %+v, want the run assigned", err, d)
			}
			a := job.Applied{Err: err}
			if errors.Is(err, job.ErrConflict) { // something else than the run has changed
				a.Run = r.store.run("j/now")
			}
			r.Resolve(d, a, r.now)
			r.now = r.now.Add(time.Second)
		}
	}
}
