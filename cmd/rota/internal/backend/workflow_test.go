package backend

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The check of a definition visits the jobs of workflows and those that the definition names. Otherwise, each job of a long file
// would take longer, the more jobs the cluster has.
func TestADefinitionIsCheckedWithoutOtherJobs(t *testing.T) {
	b := inMemory(t)
	for _, name := range []string{"alone", "load", "named", "other"} {
		b.define(t, name, `{"command":["true"]}`)
	}
	b.define(t, "report", `{"command":["true"],"after":["load"]}`)
	got := slices.Sorted(maps.Keys(b.specs("named", "unknown")))
	if diff := cmp.Diff([]string{"load", "named", "report"}, got); diff != "" {
		t.Errorf("the jobs (-want +got):\n%s", diff)
	}
}

// TestARepetitionOfASlotHasItsSteps asks whether a step has the slot of a run. If so, the step may have had a run that history has
// lost, or gets one. This holds for a repetition of that run too.
func TestARepetitionOfASlotHasItsSteps(t *testing.T) {
	b := inMemory(t)
	b.define(t, "load", `{"command":["true"]}`)
	b.define(t, "tell", `{"command":["true"],"after":["load"]}`)
	slot := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	id := job.SlotID(slot)
	for name, c := range map[string]struct {
		run  job.Run
		want bool
	}{
		"the run of the slot":           {job.Run{Job: "load", ID: id, Kind: job.KindScheduled, Slot: slot}, true},
		"its repetition":                {job.Run{Job: "load", ID: "m2", Kind: job.KindRetry, Slot: slot, RetryOf: "load/" + id}, true},
		"a run by hand":                 {job.Run{Job: "load", ID: "m1", Kind: job.KindManual, Slot: slot}, false},
		"the repetition of one by hand": {job.Run{Job: "load", ID: "m2", Kind: job.KindRetry, Slot: slot, RetryOf: "load/m1"}, false},
	} {
		if had, awaits := b.hadStep(&c.run, "tell"), b.awaitsSlot(&c.run, "tell"); had || awaits != c.want {
			t.Errorf("%s: had its run: %v, awaits it: %v, want %v", name, had, awaits, c.want)
		}
	}
}
