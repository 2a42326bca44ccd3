package job_test

import (
	"slices"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Each name of a wait is a label of one metric, so it occurs once.
func TestWaitsAreDistinct(t *testing.T) {
	names := job.Waits()
	slices.Sort(names)
	if distinct := slices.Compact(slices.Clone(names)); len(distinct) != len(names) {
		t.Errorf("got %q: a name occurs twice", names)
	}
}
