package delayed_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestRunsComeInTheOrderOfTheirTimes compares a set with a map while runs are added, replaced and removed at random.
func TestRunsComeInTheOrderOfTheirTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for round := range 20 {
		var set delayed.Runs
		want := map[string]*job.Delayed{}
		for step := range 2000 {
			id := fmt.Sprint(random.IntN(300))
			if random.IntN(1000) < []int{550, 450, 800}[step/700] {
				r := &job.Run{
					Job: "a", ID: id, Kind: job.KindDelayed, State: job.Pending, Reason: job.ReasonNotYet, Slot: noon, Created: noon,
					Due: noon.Add(time.Duration(random.IntN(1000)) * time.Second),
				}
				set.Put(r.Delay())
				want[id] = set.Get(id)
			} else {
				set.Remove(id)
				delete(want, id)
			}
			if step%20 == 0 {
				compare(t, &set, want)
			}
		}
		for id := range want {
			set.Remove(id)
			delete(want, id)
		}
		compare(t, &set, want)
		if t.Failed() {
			t.Fatal("round ", round)
		}
	}
}

func compare(t *testing.T, set *delayed.Runs, want map[string]*job.Delayed) {
	t.Helper()
	var times, got []int64
	for _, d := range want {
		times = append(times, d.DueNanos())
	}
	slices.Sort(times)
	for at, d := range set.Ascending() {
		if want[d.ID()] != d || at != d.DueNanos() {
			t.Errorf("run %s at %d is not in the set", d.ID(), at)
		}
		got = append(got, at)
	}
	if !slices.Equal(got, times) {
		t.Errorf("got %d runs, or in another order: want %d", len(got), len(times))
	}
	if first, ok := set.First(); ok != (len(times) > 0) || ok && first != times[0] {
		t.Errorf("the first is at %d, %t, want %v", first, ok, times[:min(1, len(times))])
	}
	all := 0
	for d := range set.All() {
		if all++; want[d.ID()] != d {
			t.Errorf("run %s is not in the set", d.ID())
		}
	}
	if all != len(want) || set.Len() != len(want) {
		t.Errorf("got %d runs, Len %d, want %d", all, set.Len(), len(want))
	}
}

func TestNoRunsAreAnEmptySet(t *testing.T) {
	var none *delayed.Runs
	if _, ok := none.First(); ok || none.Len() != 0 || none.Get("a") != nil {
		t.Error("nil is not empty")
	}
	for range none.All() {
		t.Error("nil has a run")
	}
	for range none.Ascending() {
		t.Error("nil has a run")
	}
}
