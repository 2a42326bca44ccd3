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

// tally counts what happened, by what it was.
type tally struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu
}

func newTally() *tally { return &tally{counts: make(map[string]int)} }

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

// addStore counts what the store of a process did.
func (t *tally) addStore(c store.Counts) {
	t.addN("writes", int(c.Writes))
	t.addN("writes refused: the record had changed", int(c.Conflicts))
	t.addN("writes refused: the term was over", int(c.Fenced))
	t.addN("watches built anew", int(c.Relists))
}

// addVerdict counts what was judged.
func (t *tally) addVerdict(v history.Verdict, effects int) {
	t.addN("slots", v.Slots)
	t.addN("runs", v.Runs)
	t.addN("attempts", v.Attempts)
	t.addN("effects", effects)
	t.addN("effects once more, explained by a fault", v.Doubles)
}

// addAll takes over another tally.
func (t *tally) addAll(o *tally) {
	o.mu.Lock()
	counts := maps.Clone(o.counts)
	o.mu.Unlock()
	for what, n := range counts {
		t.addN(what, n)
	}
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "\n%10d  %s", t.counts[what], what)
	}
	return b.String()
}
