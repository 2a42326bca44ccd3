package node

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
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

// TestABackfillAfterAnEditOfTheJitter gives a job a schedule with jitter. Its first slots have passed, and some of them have run before
// the edit. A backfill runs none of them, whether history still has these runs or not.
func TestABackfillAfterAnEditOfTheJitter(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	spec := job.Spec{Every: job.Duration(time.Second), Command: []string{"true"}}
	r.put(t, "pay5", spec)
	began := time.Now()
	eventually(t, "the slots of three seconds have run", func() bool {
		l, err := r.Runs(t.Context(), client.RunFilter{Job: "pay5", States: []job.State{job.Succeeded}}, "")
		return err == nil && slices.ContainsFunc(l.Runs, func(v api.RunView) bool { return v.Slot.After(began.Add(3 * time.Second)) })
	})
	spec.Every, spec.Jitter = job.Duration(2*time.Second), job.Duration(10*time.Second) // the share of pay5 is about four seconds
	r.put(t, "pay5", spec)
	edited := time.Now()
	eventually(t, "slots are skipped", func() bool {
		events, err := r.node.store.Events(t.Context(), "pay5", 10)
		return err == nil && len(events) > 0
	})
	v, err := r.StartBackfill(t.Context(), "pay5", api.BackfillRequest{From: began.Add(time.Second), To: edited.Add(-time.Second)})
	if err != nil || v.Total != 0 {
		t.Errorf("got %d slots in %v, %v; want none", v.Total, v.Ranges, err)
	}
}

// TestADryRunAfterADeletion backfills a job that was deleted and created again. The dry run does not count the slots that have a run
// of the deleted job among those that would run.
func TestADryRunAfterADeletion(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	spec := job.Spec{Every: job.Duration(time.Second), Shell: "true"}
	r.put(t, "tick", spec)
	var slot time.Time
	eventually(t, "a run ends", func() bool {
		l, err := r.Runs(t.Context(), client.RunFilter{Job: "tick", States: []job.State{job.Succeeded}}, "")
		if err != nil || len(l.Runs) == 0 {
			return false
		}
		slot = l.Runs[len(l.Runs)-1].Slot
		return true
	})
	if err := r.DeleteJob(t.Context(), "tick", api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	r.put(t, "tick", spec)
	v, err := r.StartBackfill(t.Context(), "tick", api.BackfillRequest{From: slot.Add(-time.Second), To: slot, DryRun: true})
	if err != nil || v.Slots != 2 || v.Total != 1 || v.Recorded != 1 || len(v.First) != 1 {
		t.Errorf("got %d of %d slots, %d with a run, first %v, %v; want 1 of 2, 1 with a run", v.Total, v.Slots, v.Recorded, v.First, err)
	}
}

// TestABackfillOrderedByManyAtOnce orders the same backfill many times at once. It is one backfill, and nobody is refused.
func TestABackfillOrderedByManyAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Hour), Shell: "sleep 10"})
	from := time.Now().Truncate(time.Hour).Add(-2 * time.Hour)
	order := api.BackfillRequest{From: from, To: from.Add(time.Hour)}
	begun := make(map[time.Time]bool)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			v, err := r.StartBackfill(t.Context(), "tick", order)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			begun[v.Created] = true
		})
	}
	wg.Wait()
	if len(begun) != 1 {
		t.Errorf("got backfills of %v, want one", begun)
	}
	order.To = from
	if _, err := r.StartBackfill(t.Context(), "tick", order); status(err) != 409 {
		t.Errorf("another backfill: got %v, want that it is refused", err)
	}
}
