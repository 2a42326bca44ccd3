package planner_test

import (
	"testing"
	"time"
)

// sights counts what the clusters of a test have met, which shows that the judge had something to judge.
type sights struct{ broken, late int }

// TestQuietClusterObeysTheDocumentation runs clusters in which leaders and workers die, and judges each slot by the documentation.
func TestQuietClusterObeysTheDocumentation(t *testing.T) {
	var seen sights
	if *simSeed >= 0 {
		quietly(t, uint64(*simSeed), &seen, t.Logf)
		return
	}
	seeds := max(1, *simSeeds/10)
	for seed := range seeds {
		if !quietly(t, uint64(seed), &seen, func(string, ...any) {}) {
			t.Fatalf("reproduce with: go test ./scheduler/planner -run QuietCluster -sim.seed=%d -v", seed)
		}
	}
	if seeds >= 20 && (seen.broken == 0 || seen.late == 0) {
		t.Errorf("got %d open breakers and %d late slots in %d clusters, want some of each", seen.broken, seen.late, seeds)
	}
	t.Logf("%d open breakers and %d late slots in %d clusters", seen.broken, seen.late, seeds)
}

func quietly(t *testing.T, seed uint64, seen *sights, log func(string, ...any)) bool {
	q := newQuiet(seed, log)
	g := &judge{quiet: q, until: midnight.Add(8 * time.Minute)}
	if err := q.scene(g.until); err != nil {
		t.Error(err)
		return false
	}
	for _, name := range q.names {
		if j := q.store.job(name); !j.Spec.Step() {
			g.slots(j)
		}
		g.throttles(name)
		seen.broken += len(g.breaks(name))
	}
	for _, l := range q.lives {
		g.waited(l)
		g.deadline(l)
	}
	seen.late += len(q.late)
	g.steps()
	g.limits()
	g.backfills()
	for _, e := range g.errs {
		t.Errorf("seed %d: %s", seed, e)
	}
	return !t.Failed()
}
