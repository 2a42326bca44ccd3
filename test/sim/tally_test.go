package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/history"
)

// tally counts events by kind.
type tally struct {
	mu     sync.Mutex
	counts map[string]int      // guarded by mu
	seeds  map[string][]uint64 // guarded by mu: seeds of the events that addAll added
}

func newTally() *tally { return &tally{counts: make(map[string]int), seeds: make(map[string][]uint64)} }

func (t *tally) add(what string) { t.addN(what, 1) }

func (t *tally) addN(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

func (t *tally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

// addStore counts the operations of a process's store.
func (t *tally) addStore(c store.Counts) {
	t.addN("writes", int(c.Writes))
	t.addN("writes refused: the record had changed", int(c.Conflicts))
	t.addN("writes refused: the term was over", int(c.Fenced))
	t.addN("watches built again", int(c.Relists))
}

// addVerdict adds the counts of a verdict.
func (t *tally) addVerdict(v history.Verdict, effects int) {
	t.addN("slots", v.Slots)
	t.addN("runs", v.Runs)
	t.addN("attempts", v.Attempts)
	t.addN("effects", effects)
	t.addN("effects once more, explained by a fault", v.Doubles)
}

// addAll adds the tally of a seed.
func (t *tally) addAll(o *tally, seed uint64) {
	o.mu.Lock()
	counts := maps.Clone(o.counts)
	o.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for what, n := range counts {
		if t.counts[what] += n; n > 0 {
			t.seeds[what] = append(t.seeds[what], seed)
		}
	}
}

// If an event occurred in at most seldom clusters, the report lists their seeds.
const seldom = 12

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "\n%10d  %s", t.counts[what], what)
		if in := slices.Sorted(slices.Values(t.seeds[what])); len(in) > 0 && len(in) <= seldom {
			fmt.Fprintf(&b, " (seeds %v)", in)
		}
	}
	return b.String()
}
