package node

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestABackfillOrderedInAPause orders a backfill of slots that pass during a pause. They belong to the schedule until the pause ends, so
// this backfill runs none of them. Afterwards another backfill runs them.
func TestABackfillOrderedInAPause(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Shell: "true"})
	if _, err := r.PauseJob(t.Context(), "tick", "test"); err != nil {
		t.Fatal(err)
	}
	slot := time.Now().Truncate(time.Second).Add(3 * time.Second)
	order := api.BackfillRequest{From: slot, To: slot}
	eventually(t, "the slot has passed", func() bool { return time.Now().After(slot) })
	order.DryRun = true
	v, err := r.StartBackfill(t.Context(), "tick", order)
	if err != nil || v.Total != 0 || v.Open != 1 || v.Unknown != 0 {
		t.Errorf("dry run: got %d slots, %d open, %d unknown, %v; want one open", v.Total, v.Open, v.Unknown, err)
	}
	order.DryRun = false
	if _, err := r.StartBackfill(t.Context(), "tick", order); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ResumeJob(t.Context(), "tick", ""); err != nil {
		t.Fatal(err)
	}
	ends := func() {
		t.Helper()
		eventually(t, "the backfill ends", func() bool {
			v, err := r.Backfill(t.Context(), "tick")
			return err == nil && v.State == job.BackfillDone
		})
	}
	ends()
	eventually(t, "the slot is skipped", func() bool {
		why, err := r.Explain(t.Context(), "tick", slot)
		return err == nil && why.Verdict == "skipped"
	})
	if v, err := r.StartBackfill(t.Context(), "tick", order); err != nil || v.Total != 1 {
		t.Fatalf("after the pause: got %d slots, %v, want one", v.Total, err)
	}
	ends()
	if run, err := r.Run(t.Context(), "tick/"+job.SlotID(slot)); err != nil || run.State != job.Succeeded {
		t.Errorf("got %s, %v, want that it succeeded", run.State, err)
	}
}
