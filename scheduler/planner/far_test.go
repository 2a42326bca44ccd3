package planner_test

import (
	"errors"
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

// farRig returns a rig with one delayed run of the job j, which is due in an hour.
func farRig(t *testing.T) (*rig, *job.Run) {
	r := newRig(t)
	r.define("j", job.Spec{})
	r.worker("w", 1)
	run := &job.Run{
		Job: "j", ID: "1", Kind: job.KindDelayed, Slot: midnight, Due: midnight.Add(time.Hour), State: job.Pending, Reason: job.ReasonNotYet,
	}
	r.put(run)
	r.lead()
	r.expectNone()
	r.expectVisits("at first", 0, 1)
	return r, run
}

func (r *rig) put(run *job.Run) {
	r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: new(*run)})
	r.feed()
}

func (r *rig) expectVisits(claim string, near, far int) {
	r.Helper()
	if n, f := r.Visits("j"); n != near || f != far {
		r.Errorf("%s: decisions visit %d runs, and %d are far ahead; want %d and %d", claim, n, f, near, far)
	}
}

// expectArmed fails unless the planner arms the run.
func (r *rig) expectArmed(run *job.Run) {
	r.Helper()
	if d := r.plan(); d.Run == nil || d.Run.Name() != run.Name() || d.Run.State != job.Armed {
		r.Errorf("got the decision %+v, want that run %s is armed", d, run.Name())
	}
}

func TestChangesOfRunsThatAreFarAhead(t *testing.T) {
	t.Run("canceled", func(t *testing.T) {
		r, run := farRig(t)
		next, err := run.Stop(job.Cancel{At: r.now})
		if err != nil {
			t.Fatal(err)
		}
		r.put(&next)
		r.expectVisits("after the cancel", 0, 0)
		r.now = midnight.Add(time.Hour)
		r.expectNone()
	})
	t.Run("another one is due earlier", func(t *testing.T) {
		r, run := farRig(t)
		run.ID, run.Due = "2", midnight.Add(30*time.Minute)
		r.put(run)
		r.expectNone()
		r.now = run.Due
		r.expectArmed(run)
	})
	t.Run("edited by hand: due now", func(t *testing.T) {
		r, run := farRig(t)
		run.Due = r.now
		r.put(run)
		r.expectVisits("after the edit", 1, 0)
		r.expectArmed(run)
	})
	t.Run("edited by hand: due later, then at the same time again", func(t *testing.T) {
		r, run := farRig(t)
		due := run.Due
		for _, run.Due = range []time.Time{due.Add(time.Hour), due} {
			r.put(run)
			r.expectVisits("after the edit", 0, 1)
		}
		r.now = due
		r.expectArmed(run)
	})
	t.Run("made unreadable by hand, and repaired", func(t *testing.T) {
		r, run := farRig(t)
		r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Bad: errors.New("garbage")})
		r.feed()
		r.expectVisits("while it is unreadable", 0, 0)
		r.put(run)
		r.expectVisits("after the repair", 0, 1)
		r.now = run.Due
		r.expectArmed(run)
	})
	t.Run("an older record comes again", func(t *testing.T) {
		r, run := farRig(t)
		older := r.store.log[len(r.store.log)-1]
		run.Due = midnight.Add(2 * time.Hour)
		r.put(run)
		r.Apply(asMirrored(older), r.now)
		r.now = midnight.Add(time.Hour)
		r.expectNone()
		r.now = run.Due
		r.expectArmed(run)
	})
	t.Run("its job was deleted", func(t *testing.T) {
		r, run := farRig(t)
		r.store.remove(job.RecordJob, "j")
		r.feed()
		if d := r.plan(); d.Run == nil || d.Run.Name() != run.Name() || d.Run.State != job.Canceled {
			t.Errorf("got the decision %+v, want that run %s is canceled", d, run.Name())
		}
	})
	t.Run("its job has changed", func(t *testing.T) {
		r, run := farRig(t)
		r.define("j", job.Spec{Timeout: job.Duration(time.Minute)})
		r.feed()
		r.expectNone()
		r.now = run.Due
		r.expectArmed(run)
	})
}

func TestNewLeaderKnowsRunsThatWereFarAhead(t *testing.T) {
	r, run := farRig(t)
	r.Follow()
	r.now = run.Due.Add(time.Minute) // a follower decides nothing, so the run is still among those far ahead
	r.Plan(r.now, 10)
	r.expectVisits("while it follows", 0, 1)
	r.Lead(r.now)
	r.expectArmed(run)
}

func TestClockJumpsLoseNoRunThatIsFarAhead(t *testing.T) {
	r, run := farRig(t)
	r.now = run.Due.Add(-time.Minute)
	r.expectNone()
	r.expectVisits("a minute before", 1, 0)
	r.now = midnight.Add(-time.Hour)
	r.Follow() // a jump ends the term
	r.Lead(r.now)
	r.expectNone()
	r.now = midnight.Add(24 * time.Hour)
	r.expectArmed(run)
}
