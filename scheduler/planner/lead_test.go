package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAFollowerDecidesOldChangesInItsTerm lets a planner follow changes before it leads. The leader before it left a waiting run, or a
// step whose parent has ended.
func TestAFollowerDecidesOldChangesInItsTerm(t *testing.T) {
	parent := job.Run{Job: "j", ID: job.SlotID(midnight), Kind: job.KindScheduled, Slot: midnight, Due: midnight, State: job.Pending}
	ended := parent
	ended.State, ended.Finished = job.Succeeded, midnight
	for want, run := range map[string]job.Run{"j/" + parent.ID: parent, "step/" + parent.ID: ended} {
		r := newRig(t)
		r.now = midnight.Add(-time.Hour)
		r.define("j", job.Spec{Every: job.Duration(time.Hour)})
		r.define("step", job.Spec{After: []job.After{{Job: "j"}}})
		r.worker("w", 1)
		r.store.put(job.Change{Kind: job.RecordCursor, Name: "j", Value: &job.Cursor{
			Job: "j", After: midnight, Next: midnight.Add(time.Hour), Generation: 1,
		}})
		r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
		r.now = midnight.Add(time.Second)
		r.feed()
		r.expectNone()
		r.lead()
		if d := r.plan(); d.Run == nil || d.Run.Name() != want || d.Run.State != job.Armed {
			t.Errorf("got %+v, want %s assigned", d, want)
		}
	}
}

// TestALeaderRestsWhileARunWaitsForItsWorker has a run that only a busy worker may execute, and another worker with room.
func TestALeaderRestsWhileARunWaitsForItsWorker(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Overlap: job.OverlapAllow})
	r.worker("busy", 1)
	r.worker("free", 1)
	for _, id := range []string{"a", "b"} {
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Value: &job.Run{
			Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending, On: "busy",
		}})
	}
	r.lead()
	for ds := r.Plan(r.now, 10); len(ds) > 0; ds = r.Plan(r.now, 10) {
		for _, d := range ds {
			r.Resolve(d, r.commit(d), r.now)
		}
		r.feed()
	}
	if got := r.store.run("j/b"); got.State != job.Pending || got.Reason != "no worker has room" {
		t.Fatalf("got %s: %s, want the second run to wait for room", got.State, got.Reason)
	}
	if at, ok := r.Next(); ok && !at.After(r.now) {
		t.Error("the leader decides again at once, although nothing has changed")
	}
}
