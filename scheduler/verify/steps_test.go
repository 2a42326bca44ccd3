package verify_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// TestARepeatedStep checks that a person may repeat a step that was skipped because of its parent, and that a leader may not start it.
func TestARepeatedStep(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *job.Run)
		want   int
	}{
		"by a person":                    {func(*job.Run) {}, 0},
		"by a leader":                    {func(r *job.Run) { r.Kind, r.RetryOf = job.KindScheduled, "" }, 1},
		"by a leader, for a resumed run": {func(r *job.Run) { r.After[0].ID = "" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			skipped := job.Run{
				Job: "report", ID: job.SlotID(minute(1)), Kind: job.KindScheduled, Slot: minute(1), State: job.Skipped, Finished: minute(2),
				After: []job.Parent{{Job: "load", State: job.Failed}},
			}
			r := job.Run{
				Job: "report", ID: job.SlotID(minute(1)), Kind: job.KindRetry, Slot: minute(1), Due: minute(3), State: job.Running, Attempt: 1,
				Worker: "w1", Token: 8, Created: minute(3), RetryOf: skipped.Name(), After: workflow.Follow(&skipped), Rev: 9,
			}
			test.change(&r)
			got := verify.Check(verify.Input{Records: []job.Change{{Kind: job.RecordRun, Name: r.Name(), Rev: 9, Create: 7, Value: &r}}}).Violations
			if len(got) != test.want {
				t.Errorf("got %v, want %d violations", got, test.want)
			}
		})
	}
}
