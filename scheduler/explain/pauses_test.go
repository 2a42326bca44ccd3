package explain_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestSlotsBetweenJoinedPauses checks what is said of a slot that ran between two pauses, if its record and the end of the first pause
// are forgotten.
func TestSlotsBetweenJoinedPauses(t *testing.T) {
	for _, all := range []bool{false, true} {
		f := backup(nil)
		f.Job.Since = f.Job.Since.AddDate(0, -1, 0)
		for day := -8; day <= 0; day++ {
			from, until := at("00:00:00").AddDate(0, 0, day), at("01:00:00").AddDate(0, 0, day)
			if all {
				f.Gate, _ = f.Gate.SetPause(&job.Pause{At: from}, from)
				f.Gate, _ = f.Gate.SetPause(nil, until)
				continue
			}
			*f.Job, _ = f.Job.SetPause(&job.Pause{At: from}, from)
			*f.Job, _ = f.Job.SetPause(nil, until)
		}
		f.Cursor = &job.Cursor{Job: "backup", After: at("02:30:00"), Next: at("02:30:00").AddDate(0, 0, 1)}
		got := explain.Explain(f, at("02:30:00").AddDate(0, 0, -8))
		if text := strings.Join(got.Text, " "); !strings.HasPrefix(text, "It was decided") {
			t.Errorf("all jobs: %t: got %s: %s", all, got.Verdict, text)
		}
	}
}

// TestAPausedStepIsExplainedByItsParents checks the slot of a step that was paused at the time of the slot: a step runs once its
// parents have ended, also after a pause.
func TestAPausedStepIsExplainedByItsParents(t *testing.T) {
	f := backup(nil)
	*f.Job, _ = f.Job.SetPause(&job.Pause{At: at("02:00:00")}, at("02:00:00"))
	*f.Job, _ = f.Job.SetPause(nil, at("03:00:00"))
	f.Job.Spec.After = []job.After{{Job: "load"}}
	f.Parents = []explain.Parent{{Job: "load", Run: &job.Run{Job: "load", State: job.Running}, Decided: true}}
	got := explain.Explain(f, at("02:30:00"))
	if want := "It waits for parent load, whose run is running."; got.Verdict != "waits" || got.Text[0] != want {
		t.Errorf("got %s: %q, want %q", got.Verdict, got.Text, want)
	}
}
