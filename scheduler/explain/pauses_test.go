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
