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

// TestALateRefusalBringsNoRunBack removes a run while the leader decides to skip the slot behind it. The store's answer has the
// record that the run had before. The slot runs.
func TestALateRefusalBringsNoRunBack(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapSkip})
	r.worker("w", 10)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	first := r.claim(d.Run.Name(), 0)
	r.feed()
	r.now = r.now.Add(70 * time.Second)
	if d = r.plan(); d.Run == nil || d.Run.State != job.Skipped {
		t.Fatalf("got %+v, want the slot skipped", d)
	}
	refusal := job.Applied{Err: job.ErrConflict, Guarded: []job.Change{
		{Kind: job.RecordRun, Name: first.Name(), Rev: first.Rev, Value: &first},
	}}
	r.store.put(job.Change{Kind: job.RecordRun, Name: first.Name()})
	r.feed()
	r.Resolve(d, refusal, r.now)
	r.now = r.now.Add(time.Second)
	if again := r.plan(); again.Run == nil || again.Run.ID != d.Run.ID || again.Run.State != job.Armed {
		t.Errorf("got %+v, want the slot armed", again.Run)
	}
}

// TestAConflictMissesNoSlot refuses the decision about a slot again and again, because other records have changed. The store accepts
// writes all the time, so the slot runs, although the job's policy for missed slots is none.
func TestAConflictMissesNoSlot(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: job.Duration(time.Hour), Missed: job.MissedNone})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Hour)
	for range 4 {
		d := r.plan()
		if d.Run == nil || d.Run.State != job.Armed {
			t.Fatalf("got %+v, want the slot's run assigned", d)
		}
		r.Resolve(d, job.Applied{Err: job.ErrConflict}, r.now)
		r.now = r.now.Add(time.Second)
	}
}
