package sim

import (
	"slices"
	"testing"
)

// How many clusters have a load that can be judged on average, and in how many everything happens that may.
const (
	several = 30
	enough  = 100
)

// consequences is what faults must have brought about, or they did not bite.
var consequences = []string{
	"request refused", "request applied, then an error", "an error, then the request applied late", "request delayed by a pause",
	"request lost on a mute link", "answer lost on a deaf link", "watch told twice", "watches built anew", "fault: wrong proof of death",
	"worker sessions lost", "presence ended by a leader", "claims lost to somebody else", "outcomes that came too late",
	"decisions refused", "writes refused: the record had changed", "replica kept from leading by its clock",
	"replica in doubt of its clock",
	"effects once more, explained by a fault", "ranges of slots skipped", "slots skipped for overlap", "runs canceled",
	"attempt failed", "submissions accepted", "jobs edited", "jobs deleted", "jobs paused and resumed", "all jobs paused and resumed",
}

// The least load of one cluster, and of a cluster on average.
const (
	leastEffects, meanEffects = 10, 50
	leastSlots, meanSlots     = 10, 50
)

// checkLoad sees to it that there was something to break in one cluster, and that something was done to it.
func checkLoad(t *testing.T, count *tally) {
	t.Helper()
	faults := 0
	for _, h := range harms {
		faults += count.of("fault: " + h.name)
	}
	if effects, slots := count.of("effects"), count.of("slots"); effects < leastEffects || slots < leastSlots || faults == 0 {
		t.Errorf("%d effects, %d slots, %d faults: too few to mean anything", effects, slots, faults)
	}
}

// checkBite sees to it that all of it together meant something.
func checkBite(t *testing.T, clusters int, total *tally) {
	t.Helper()
	if clusters < several {
		return
	}
	if effects, slots := total.of("effects"), total.of("slots"); effects < meanEffects*clusters || slots < meanSlots*clusters {
		t.Errorf("%d effects and %d slots in %d clusters: the load was too low", effects, slots, clusters)
	}
	if clusters < enough {
		return
	}
	for _, h := range harms {
		if total.of("fault: "+h.name) == 0 {
			t.Errorf("fault %q was never made", h.name)
		}
	}
	for _, what := range slices.Concat(consequences, armed, guarded) {
		if total.of(what) == 0 {
			t.Errorf("%q never happened: the faults did not bite", what)
		}
	}
}
