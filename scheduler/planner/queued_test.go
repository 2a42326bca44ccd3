package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestSubmittedRunsTakeNoPlaceOfSlots decides a slot behind as many submitted runs as slots may wait. The slot waits too.
func TestSubmittedRunsTakeNoPlaceOfSlots(t *testing.T) {
	for _, overlap := range []job.Overlap{job.OverlapQueue, job.OverlapAllow} {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely, Overlap: overlap})
		for i := range planner.MaxQueued {
			run := job.Run{
				Job: "j", ID: fmt.Sprintf("m%03d", i), Kind: job.KindManual, Slot: r.now, Due: r.now, Created: r.now, State: job.Pending,
			}
			r.store.rev++
			r.store.write(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
		}
		r.lead()
		r.now = r.now.Add(time.Minute)
		if d := r.plan(); d.Run == nil || d.Run.ID != job.SlotID(r.now) || d.Run.State != job.Pending {
			t.Errorf("overlap: %s: got %+v, want a run of the slot that waits", overlap, d.Run)
		}
	}
}
