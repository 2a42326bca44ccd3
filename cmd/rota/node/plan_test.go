package node

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestExplainKnowsSlotsThatADeletedJobSkipped(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	slot := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	if err := r.node.store.Record(t.Context(), job.Event{
		ID: job.EventID(slot, "x"), Kind: job.EventSkipped, Job: "gone", At: slot, Reason: "missed", From: slot, To: slot, Count: 1,
	}); err != nil {
		t.Fatal(err)
	}
	if v, err := r.Explain(t.Context(), "gone", slot); err != nil || v.Verdict != "skipped" || v.Slot == nil || !v.Slot.Equal(slot) {
		t.Errorf("got %+v, %v, want that it was skipped", v, err)
	}
	if v, err := r.Explain(t.Context(), "gone", slot.Add(time.Minute)); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("another time: got %+v, %v, want ErrNotFound", v, err)
	}
}
