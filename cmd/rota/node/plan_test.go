package node

import (
	"errors"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestExplainKnowsSlotsThatADeletedJobSkipped(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	slot := time.Now().UTC().Truncate(time.Hour) // events of long ago are removed
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

// TestExplainFindsTheRunOfAnEarlierSchedule asks for a slot of an earlier schedule. The present schedule has slots in the same minute.
func TestExplainFindsTheRunOfAnEarlierSchedule(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	r.put(t, "tick", job.Spec{Every: job.Duration(20 * time.Second), Shell: "true"})
	slot := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour + 7*time.Second) // history removes what is older than a week
	if _, err := r.node.store.Submit(t.Context(), job.Run{
		Job: "tick", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Skipped, Reason: "paused",
		Created: slot, Finished: slot, Generation: 1,
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run is explained", func() bool {
		v, err := r.Explain(t.Context(), "tick", slot)
		return err == nil && v.Verdict == "skipped" && v.Ref == "tick/"+job.SlotID(slot)
	})
	if v, err := r.Explain(t.Context(), "tick", slot.Add(-time.Second)); err != nil || v.Slot == nil || v.Slot.Second() != 0 {
		t.Errorf("a second before it: got %+v, %v, want the slot of the present schedule", v, err)
	}
}

// TestACursorInTheFuture has a cursor that somebody writes by hand. While a replica leads, it is written back. If nobody led at that
// time, a leader with a wrong clock may have written it, so it stays: next follows it, and the job needs attention.
func TestACursorInTheFuture(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	set := outside(t, "q1", endpoint)
	set.Worker.Enabled = false
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	putAhead := func(name string) {
		t.Helper()
		text := `{"job":"` + name + `","after":"2099-01-01T00:00:00Z","next":"2099-01-01T01:00:00Z","generation":1,"term":1}`
		if _, err := store.Put(t.Context(), "/rota/cursors/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Hour), Shell: "true"})
	r.put(t, "second", job.Spec{Every: job.Duration(time.Second), Overlap: job.OverlapAllow, Shell: "true"})
	cursorOf := func(name string) time.Time {
		c, ok := r.node.mirror.Cursor(name)
		if !ok {
			return time.Time{}
		}
		return c.After
	}
	eventually(t, "the cursor is known", func() bool { return !cursorOf("second").IsZero() })
	before := time.Now()
	putAhead("second")
	eventually(t, "the cursor is written back, and slots go on", func() bool {
		at := cursorOf("second")
		return at.After(before) && at.Before(before.Add(time.Hour))
	})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}

	putAhead("tick")
	r = start(t, Config{Settings: set, Version: version})
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

// TestASlotOfAPauseIsSkippedForEachStep has a workflow whose only slot passes during a pause. No step gets a record, and no later slot
// moves the cursors of the steps.
func TestASlotOfAPauseIsSkippedForEachStep(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	slot := time.Now().Truncate(time.Second).Add(3 * time.Second)
	r.put(t, "load", job.Spec{At: []time.Time{slot}, Shell: "true"})
	r.put(t, "check", job.Spec{After: []job.After{{Job: "load"}}, Shell: "true"})
	r.put(t, "report", job.Spec{After: []job.After{{Job: "check"}}, Shell: "true"})
	if _, err := r.PauseJob(t.Context(), "load", "test"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the slot has passed", func() bool { return time.Now().After(slot) })
	if why, err := r.Explain(t.Context(), "report", slot); err != nil || why.Verdict != "waits" {
		t.Errorf("during the pause: got %+v, %v, want that it waits", why, err)
	}
	if _, err := r.ResumeJob(t.Context(), "load", ""); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"load", "check", "report"} {
		eventually(t, step+" says that the slot was skipped", func() bool {
			why, err := r.Explain(t.Context(), step, slot)
			return err == nil && why.Verdict == "skipped"
		})
	}
}
