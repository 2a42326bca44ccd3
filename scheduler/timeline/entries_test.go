package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestALateRunByAWrongClock checks that the clock of a worker does not change how late a run began.
func TestALateRunByAWrongClock(t *testing.T) {
	slot := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	for _, wrong := range []time.Duration{0, -time.Hour, time.Hour} {
		r := job.Run{Job: "backup", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, Late: true, State: job.Running, Attempt: 1, Token: 7}
		r.Armed, r.Started = slot.Add(4*time.Minute), slot.Add(4*time.Minute+wrong)
		done, err := r.Finish(job.Outcome{State: job.Succeeded, At: r.Started.Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []job.Run{r, done} {
			if list := ofRun(&r); len(list) != 1 || !strings.HasSuffix(list[0].Text, " began 4m0s late.") {
				t.Errorf("clock wrong by %v, %s: got %+v", wrong, r.State, list)
			}
		}
	}
}

// TestAFailureByAWrongClock checks that a failure has its place among the other entries, whatever the clock of its worker.
func TestAFailureByAWrongClock(t *testing.T) {
	slot := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	for _, wrong := range []time.Duration{0, -5 * time.Hour, 5 * time.Hour} {
		r := job.Run{Job: "backup", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Running, Attempt: 1, Token: 7}
		r.Armed, r.Started = slot, slot.Add(wrong)
		done, err := r.Finish(job.Outcome{State: job.Failed, At: r.Started.Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		again := r
		again.Attempts, again.State = done.Attempts, job.Pending
		if list := ofRun(&done); len(list) != 1 || !list[0].At.Equal(slot.Add(time.Second)) {
			t.Errorf("clock wrong by %v, failed: got %+v", wrong, list)
		}
		again.Due = slot.Add(time.Minute)
		if list := ofRun(&again); len(list) != 1 || list[0].At.Sub(slot) < 0 || list[0].At.Sub(slot) > time.Minute {
			t.Errorf("clock wrong by %v, retried: got %+v", wrong, list)
		}
	}
}

// TestAForgottenOutcome checks what is said of an outcome that the store may have taken before.
func TestAForgottenOutcome(t *testing.T) {
	e := job.Event{Kind: job.EventFenced, Run: "backup/x", Attempt: 1, Reason: "attempt 1 ended succeeded, but " + job.FateForgotten + ": x"}
	if list := ofEvent(&e); len(list) != 1 || list[0].Text != "The outcome of attempt 1 of backup/x was refused, and its run is gone." {
		t.Errorf("got %+v", list)
	}
}
