package backend

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestFilesNote(t *testing.T) {
	for name, tc := range map[string]struct {
		replica job.Replica
		inForce job.Files
		want    string
	}{
		"it has none":                {job.Replica{}, job.Files{Hash: "a", By: "q1"}, ""},
		"it has those in force":      {job.Replica{FilesHash: "a"}, job.Files{Hash: "a", By: "q1"}, ""},
		"it says why it differs":     {job.Replica{FilesHash: "b", FilesNote: "cannot be read"}, job.Files{Hash: "a", By: "q1"}, "cannot be read"},
		"it has not seen the others": {job.Replica{FilesHash: "b"}, job.Files{Hash: "a", By: "q1"}, "has other files than those in force, which q1 applied"},
		"a hand removed the record":  {job.Replica{FilesHash: "b"}, job.Files{}, "has files, and none are in force"},
	} {
		if got := filesNote(&tc.replica, tc.inForce); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestFirstRuns compares the first runs with those of the whole list in order.
func TestFirstRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that repeats
	for _, size := range []int{0, 1, 7, 200, 1000} {
		var runs []*job.Run
		for i := range size {
			runs = append(runs, &job.Run{Job: "a", ID: fmt.Sprint(i), Slot: time.Unix(random.Int64N(50), 0)})
		}
		for _, n := range []int{1, 10, 100, 1000} {
			want := slices.SortedFunc(slices.Values(runs), api.CompareRuns)
			if got := firstOf(slices.Clone(runs), n, api.CompareRuns); !slices.Equal(got, want[:min(n, size)]) {
				t.Errorf("the first %d of %d runs: got %d others", n, size, len(got))
			}
		}
	}
}
