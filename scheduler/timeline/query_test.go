package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// crowd returns runs in no order. A client submitted each, and every third failed.
func crowd(n int) []*job.Run {
	start := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	runs := make([]*job.Run, n)
	for i := range runs {
		at := start.Add(time.Duration(i) * 10 * time.Second)
		r := &job.Run{
			Job: fmt.Sprintf("j%d", i%7), ID: fmt.Sprint(i), Kind: job.KindManual, State: job.Succeeded, By: "ann",
			Created: at, Slot: at, Due: at, Finished: at.Add(time.Second),
		}
		if i%3 == 0 {
			r.State, r.Reason = job.Failed, "exit code 1"
		}
		runs[i] = r
	}
	rand.Shuffle(n, func(i, k int) { runs[i], runs[k] = runs[k], runs[i] })
	return runs
}

// The latest entries are those that the end of the whole timeline has.
func TestTheLatestEntriesAreThoseOfAll(t *testing.T) {
	runs := crowd(3000)
	f := timeline.Facts{Runs: runs}
	wants := func(name string) bool { return name != "j3" }
	all := timeline.Entries(f, timeline.Query{Wants: wants})
	if n := 3000 * 4 / 3; len(all) < n*8/10 || len(all) > n {
		t.Fatalf("%d entries in all", len(all))
	}
	for _, most := range []int{1, 10, 1000, len(all), 2 * len(all)} {
		got := timeline.Entries(f, timeline.Query{Wants: wants, Most: most})
		if diff := cmp.Diff(all[max(0, len(all)-most):], got); diff != "" {
			t.Errorf("the latest %d (-want +got):\n%s", most, diff)
		}
	}
}

// A store may have a million runs that the timeline could name, and an answer has a few entries. So most are never made.
func TestFewEntriesOfManyRunsAreMade(t *testing.T) {
	f := timeline.Facts{Runs: crowd(50_000)}
	made := testing.AllocsPerRun(1, func() { timeline.Entries(f, timeline.Query{Most: 100}) })
	if made > 50_000 {
		t.Errorf("%.0f allocations for 100 entries of %d runs", made, len(f.Runs))
	}
}
