package sim

import (
	"slices"
	"testing"
)

// If at least several clusters ran, the average load is checked. If at least enough clusters ran, every effect must have
// occurred.
const (
	several = 30
	enough  = 100
)

// If at least few seeds ran, every effect must occur. The test searches for missing effects in further seeds, the likely ones
// first. A change of rota may change the effects of a seed.
const few = 6

var likely = []uint64{10, 17, 33, 36, 103, 113, 120}

// further returns the seeds in which to search for effects that did not occur in the first n.
func further(n int) (list []uint64) {
	for _, seed := range likely {
		if seed >= uint64(n) {
			list = append(list, seed)
		}
	}
	for seed := uint64(n); seed < enough; seed++ {
		if !slices.Contains(likely, seed) {
			list = append(list, seed)
		}
	}
	return list
}

// consequences are the effects that the faults must have. Otherwise the faults took no effect.
var consequences = []string{
	"request refused", "request applied, then an error", "an error, then the request applied late", "request delayed by a pause",
	"request lost on a mute link", "answer lost on a deaf link", "watch event delivered twice", "watches built again", "fault: wrong proof of death",
	"worker sessions lost", "presence ended by a leader", "claims lost to another worker", "outcomes that came too late",
	"decisions refused", "writes refused: the record had changed", "replica kept from leading by its clock",
	"replica in doubt of its clock",
	"effects once more, explained by a fault", "ranges of slots skipped", "slots skipped for overlap", "runs canceled",
	"attempt failed", "copies executed", "copies executed again", "submissions accepted", "jobs edited", "jobs deleted", "jobs paused and resumed", "all jobs paused and resumed",
}

// The least load of one cluster, and of a cluster on average.
const (
	leastEffects, meanEffects = 10, 50
	leastSlots, meanSlots     = 10, 50
)

// checkLoad checks that one cluster had work and faults.
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

// checkEffects checks that the faults of all clusters together had their effects.
func checkEffects(t *testing.T, clusters int, total *tally) {
	t.Helper()
	if effects, slots := total.of("effects"), total.of("slots"); clusters >= several && (effects < meanEffects*clusters || slots < meanSlots*clusters) {
		t.Errorf("%d effects and %d slots in %d clusters: the load was too low", effects, slots, clusters)
	}
	if clusters < enough {
		return
	}
	for _, what := range missingEffects(total) {
		t.Errorf("%q never happened: the faults took no effect", what)
	}
}

// missingEffects lists the required effects that did not occur.
func missingEffects(total *tally) (list []string) {
	for _, h := range harms {
		list = append(list, "fault: "+h.name)
	}
	list = slices.Concat(list, consequences, armed, guarded, staged, decisions)
	return slices.DeleteFunc(list, func(what string) bool { return total.of(what) > 0 })
}

func TestAFaultWithoutAnEffectIsReported(t *testing.T) {
	all := missingEffects(newTally())
	if len(all) < len(harms)+len(consequences) {
		t.Fatalf("of nothing at all, only %d things are missed", len(all))
	}
	for i, what := range all {
		total := newTally()
		for k, other := range all {
			if k != i {
				total.add(other)
			}
		}
		if got := missingEffects(total); len(got) != 1 || got[0] != what {
			t.Errorf("without %q: got %q", what, got)
		}
	}
	if list := further(few); len(list) <= enough-few || list[0] != likely[0] {
		t.Errorf("got seeds %v", list)
	}
	if list := further(enough); !slices.Equal(list, []uint64{103, 113, 120}) {
		t.Errorf("got seeds %v", list)
	}
}
