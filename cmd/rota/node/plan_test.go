package node

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/attention"
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

// TestNextKnowsACursorInTheFuture has a cursor that somebody wrote, or that a leader with a wrong clock left behind.
func TestNextKnowsACursorInTheFuture(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Hour), Shell: "true"})
	cursor := `{"job":"tick","after":"2099-01-01T00:00:00Z","next":"2099-01-01T01:00:00Z","generation":1,"term":1}`
	if _, err := r.node.client.Put(t.Context(), "/rota/cursors/tick", cursor); err != nil {
		t.Fatal(err)
	}
	eventually(t, "next follows the cursor", func() bool {
		v, err := r.Next(t.Context(), "tick", time.Time{}, 1)
		return err == nil && len(v.Slots) == 1 && v.Slots[0].Year() == 2099 && len(v.Notes) == 1
	})
	eventually(t, "the job needs attention", func() bool {
		v, err := r.Cluster(t.Context())
		return err == nil && slices.ContainsFunc(v.Attention, func(i attention.Item) bool {
			return i.Kind == attention.Ahead && i.Job == "tick"
		})
	})
}
