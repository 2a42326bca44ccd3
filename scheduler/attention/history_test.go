package attention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// byWrongClock gives a run an attempt on a worker whose clock is wrong.
func byWrongClock(wrong time.Duration) func(*job.Run) {
	return func(r *job.Run) {
		r.Armed, r.Finished = r.Slot, r.Slot.Add(wrong+time.Second)
		r.Attempts = []job.Attempt{{Number: 1, State: r.State, Started: r.Slot.Add(wrong), Finished: r.Finished}}
	}
}

// TestAFailureByAWrongClock checks that the order of two ends does not depend on the clocks of their workers.
func TestAFailureByAWrongClock(t *testing.T) {
	for name, tc := range map[string]struct {
		runs []*job.Run
		want int
	}{
		"failed by a clock that is ahead, and went on":      {[]*job.Run{run(3, job.Failed, byWrongClock(24*time.Hour)), run(1, job.Succeeded, nil)}, 0},
		"lost by a clock that is ahead, and went on":        {[]*job.Run{run(3, job.Lost, byWrongClock(24*time.Hour)), run(1, job.Succeeded, nil)}, 0},
		"succeeded by a clock that is ahead, and failed":    {[]*job.Run{run(3, job.Succeeded, byWrongClock(24*time.Hour)), run(1, job.Failed, nil)}, 1},
		"failed by a clock that is behind, after a success": {[]*job.Run{run(3, job.Succeeded, nil), run(1, job.Failed, byWrongClock(-time.Hour))}, 1},
	} {
		j := &job.Job{Name: "j", Spec: &job.Spec{Command: []string{"true"}}}
		items := ofJobs(t, attention.Facts{Jobs: []*job.Job{j}, Workers: []*job.Worker{{Name: "w1"}}, Runs: tc.runs, Now: now})
		if len(items) != tc.want {
			t.Errorf("%s: got %+v, want %d items", name, items, tc.want)
		}
	}
}

// TestCopiesThatFail checks that a run on every worker counts as one failure, however many of its copies failed.
func TestCopiesThatFail(t *testing.T) {
	r := run(2, job.Failed, nil)
	r.Copies = []string{"w1", "w2"}
	runs := []*job.Run{r}
	for _, worker := range r.Copies {
		c := r.Copy(worker, r.Slot)
		c.State, c.Finished = job.Failed, r.Finished
		runs = append(runs, &c)
	}
	j := &job.Job{Name: "j", Spec: &job.Spec{Command: []string{"true"}}}
	items := ofJobs(t, attention.Facts{Jobs: []*job.Job{j}, Workers: []*job.Worker{{Name: "w1"}}, Runs: runs, Now: now})
	if len(items) != 1 || !strings.HasPrefix(items[0].Text, "Job j fails: its last run failed") {
		t.Errorf("got %+v", items)
	}
}
