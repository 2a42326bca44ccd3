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

// TestALateSlotIsReportedOnce answers the decision about a late slot. The planner does not decide it again, because the event is in
// the store now, or was there before.
func TestALateSlotIsReportedOnce(t *testing.T) {
	for _, err := range []error{nil, job.ErrConflict} {
		r := newRig(t)
		r.define("j", job.Spec{Every: job.Duration(time.Hour), FinishBy: "10m"})
		r.worker("w", 1)
		r.lead()
		r.now = r.now.Add(time.Hour)
		d := r.plan()
		r.Resolve(d, r.commit(d), r.now)
		r.claim(d.Run.Name(), 0)
		r.feed()
		r.now = r.now.Add(11 * time.Minute)
		if d = r.plan(); d.Event == nil || d.Event.Kind != job.EventLate {
			t.Fatalf("got %+v, want that the slot is late", d)
		}
		r.Resolve(d, job.Applied{Rev: r.store.rev, Err: err}, r.now)
		r.expectNone()
	}
}
