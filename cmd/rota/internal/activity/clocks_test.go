package activity

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAWrongClockOfAWorker checks that a run on a worker whose clock is ahead hides neither later runs nor the counts of today.
func TestAWrongClockOfAWorker(t *testing.T) {
	a := newActivity()
	ahead := run(2, "backup", "1", job.Succeeded, now.Add(-2*time.Minute))
	r := ahead.Value.(*job.Run)
	r.Armed, r.Finished = r.Slot, r.Slot.Add(24*time.Hour)
	r.Attempts = []job.Attempt{{Number: 1, State: r.State, Started: r.Finished, Finished: r.Finished}}
	a.apply([]job.Change{definition(1, "backup"), ahead, run(3, "backup", "2", job.Failed, now)})
	if j := stateOf(t, a, "backup"); j.Failed != 1 || j.Last.ID != "2" {
		t.Errorf("got %d failures, last %s, want 1, last 2", j.Failed, j.Last.ID)
	}
	list := a.Minutes(now, 3)
	if got, want := fmt.Sprint(list[0].Count, list[1].Count, list[2].Count), "map[succeeded:1] map[] map[failed:1]"; got != want {
		t.Errorf("minutes: got %s, want %s", got, want)
	}
}

// TestCopiesCountAsOneRun checks that a failed run on every worker is one failure, however many of its copies failed.
func TestCopiesCountAsOneRun(t *testing.T) {
	a := newActivity()
	first, second := run(2, "backup", "1.w1", job.Failed, now), run(3, "backup", "1.w2", job.Failed, now)
	for _, c := range []job.Change{first, second} {
		c.Value.(*job.Run).Kind = job.KindCopy
	}
	a.apply([]job.Change{definition(1, "backup"), first, second, run(4, "backup", "1", job.Failed, now)})
	if j := stateOf(t, a, "backup"); j.Failed != 1 || j.Last.ID != "1" {
		t.Errorf("got %d failures, last %s, want 1, last 1", j.Failed, j.Last.ID)
	}
}
