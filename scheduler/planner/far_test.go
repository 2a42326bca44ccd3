package planner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestDecisionsVisitNoRunsThatAreFarAhead has delayed runs of a whole day, in no order. Decisions visit those of a few minutes, so a
// million of them do not slow the leader down.
func TestDecisionsVisitNoRunsThatAreFarAhead(t *testing.T) {
	const many = 20_000
	r := newRig(t)
	r.define("j", job.Spec{Overlap: job.OverlapAllow})
	r.worker("w", many)
	random := rand.New(rand.NewPCG(1, 2))
	names := make([]string, many)
	put := func(i int, due time.Duration) {
		run := job.Run{Job: "j", ID: fmt.Sprint(i), Kind: job.KindDelayed, Slot: midnight, Due: midnight.Add(due), State: job.Pending, Reason: job.ReasonNotYet}
		names[i] = run.Name()
		r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
	}
	for i := range many {
		put(i, time.Duration(random.Int64N(int64(24*time.Hour))))
	}
	r.feed()
	r.lead()
	r.Plan(r.now, 1)
	visits := func(claim string, most, total int) {
		t.Helper()
		if near, far := r.Visits("j"); near > most || near+far != total {
			t.Errorf("%s: decisions visit %d runs, and %d are far ahead; want at most %d of %d", claim, near, far, most, total)
		}
	}
	visits("at first", many/200, many) // five minutes of a day are 1/288
	for i := range many / 2 {
		put(i, 25*time.Hour)
	}
	r.feed()
	visits("after half of them were put off", many/200, many)
	for i := range many / 2 {
		r.store.remove(job.RecordRun, names[i])
	}
	r.feed()
	visits("after half of them are gone", many/200, many/2)
	r.now = midnight.Add(12 * time.Hour)
	r.Plan(r.now, 1)
	if near, _ := r.Visits("j"); near < many/5 {
		t.Errorf("at noon, decisions visit %d runs, want those of the morning", near)
	}
}
