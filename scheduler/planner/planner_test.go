package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

func TestAJobHasOneDecisionUnderWay(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow})
	r.worker("w", 10)
	r.lead()
	r.now = r.now.Add(time.Minute)
	d := r.plan()
	r.now = r.now.Add(5 * time.Minute)
	r.store.putJob(*r.store.job("j"))
	r.feed()
	r.expectNone()
	a := r.commit(d)
	if a.Err == nil {
		t.Fatal("a decision by an old definition was committed")
	}
	r.Resolve(d, a, r.now)
	r.feed()
	r.now = r.now.Add(time.Second)
	r.plan()
}

func TestRefusedDecisionBacksOff(t *testing.T) {
	for name, err := range map[string]error{"after a conflict": job.ErrConflict, "after a refusal": job.ErrFull} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("j", job.Spec{Every: minutely})
			r.lead()
			r.now = r.now.Add(time.Minute)
			var tries []time.Duration
			for began := r.now; r.now.Sub(began) < time.Minute; {
				d := r.plan()
				tries = append(tries, r.now.Sub(began))
				r.Resolve(d, job.Applied{Err: err}, r.now)
				r.expectNone()
				next, ok := r.Next()
				if !ok || !next.After(r.now) {
					t.Fatalf("Next = %v, %v at %v: want a later time", next, ok, r.now)
				}
				r.now = next
			}
			if n := len(tries); n < 10 || n > 30 {
				t.Errorf("tried %d times within a minute, at %v: want about 18", n, tries)
			}
		})
	}

	t.Run("until the job changes", func(t *testing.T) {
		r := newRig(t)
		r.define("j", job.Spec{Every: minutely})
		r.lead()
		r.now = r.now.Add(time.Minute)
		r.Resolve(r.plan(), job.Applied{Err: job.ErrConflict}, r.now)
		r.define("j", job.Spec{Every: minutely})
		r.feed()
		r.now = r.now.Add(time.Minute)
		r.plan()
	})
}

func TestSlotsRefusedByTheStoreAreMissed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow, Missed: job.MissedLatest})
	r.lead()
	for end := r.now.Add(10 * time.Minute); r.now.Before(end); r.now, _ = r.Next() {
		for _, d := range r.Plan(r.now, 10) {
			r.Resolve(d, job.Applied{Err: job.ErrFull}, r.now)
		}
	}
	d := r.plan()
	if d.Event == nil || d.Event.Count < 8 {
		t.Errorf("got %+v, want an event for the slots that passed", d)
	}
}

func TestOversizedRunBlocksNothing(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapAllow, Missed: job.MissedNone})
	r.worker("w", 10)
	for _, id := range []string{"a-large", "b-small"} {
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Value: &job.Run{
			Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending,
		}})
	}
	r.lead()
	for end := r.now.Add(90 * time.Second); r.now.Before(end); r.now = r.now.Add(time.Second) {
		for _, d := range r.Plan(r.now, 10) {
			a := job.Applied{Err: job.ErrTooLarge}
			if d.Run == nil || d.Run.ID != "a-large" || d.Run.State != job.Armed {
				a = r.commit(d)
			}
			r.Resolve(d, a, r.now)
			r.feed()
		}
	}
	states := map[string]job.State{"a-large": job.Canceled, "b-small": job.Armed, job.SlotID(midnight.Add(time.Minute)): job.Armed}
	for id, state := range states {
		if got := r.store.run("j/" + id); got == nil || got.State != state {
			t.Fatalf("%s: got %+v, want %s", id, got, state)
		}
	}
	large, want := r.store.run("j/a-large"), outOfScripts[0]
	answer := explain.Explain(explain.Facts{Job: r.store.job("j"), Run: large, Now: r.now}, large.Slot)
	if text := strings.Join(answer.Text, "\n"); large.Reason != want || !strings.Contains(text, want) {
		t.Errorf("got the reason %q, explained as %q, want %q", large.Reason, text, want)
	}
}

func TestRetryGoesBeforeWaitingRuns(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Overlap: job.OverlapQueue})
	r.worker("w", 1)
	r.lead()
	for i := range 200 {
		id := fmt.Sprintf("m%03d", i)
		r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Value: &job.Run{
			Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending,
		}})
	}
	retry := job.Run{
		Job: "j", ID: "retry", Kind: job.KindManual, Slot: r.now, Due: r.now.Add(time.Second), State: job.Pending, Attempt: 1,
		Attempts: []job.Attempt{{Number: 1, Worker: "w", Token: 1, Started: r.now, Finished: r.now, State: job.Failed}},
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: retry.Name(), Value: &retry})
	r.feed()
	r.now = r.now.Add(2 * time.Second)
	for range 200 { // each waiting run gets a reason
		d := r.plan()
		if d.Run.State == job.Armed {
			if d.Run.ID != "retry" {
				t.Fatalf("got %s before the run that has begun", describe(d.Run))
			}
			return
		}
		r.Resolve(d, r.commit(d), r.now)
		r.feed()
	}
	t.Fatal("the retry was never armed")
}

// The reason of a new submission is replaced by the reason why it waits.
func TestSubmittedRunSaysWhyItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		spec   job.Spec
		paused bool
		want   string
	}{
		"paused":     {job.Spec{Every: minutely}, true, "paused"},
		"for a run":  {job.Spec{Every: minutely}, false, "overlap: waits for an earlier run of the job"},
		"for a rate": {job.Spec{Every: minutely, Overlap: job.OverlapAllow, Rate: rate("1/m")}, false, "rate of job j: at most 1/m may start"},
		"for room":   {job.Spec{Every: minutely, Overlap: job.OverlapAllow}, false, "no worker has room"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("j", c.spec)
			r.worker("w", 1)
			r.lead()
			for i := range 3 {
				id := fmt.Sprint("m", i)
				r.store.put(job.Change{Kind: job.RecordRun, Name: "j/" + id, Value: &job.Run{
					Job: "j", ID: id, Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending, Reason: job.ReasonNew, Created: r.now,
				}})
			}
			if c.paused {
				j := *r.store.job("j")
				j.Paused = &job.Pause{At: r.now}
				r.store.putJob(j)
			}
			r.feed()
			for ds := r.Plan(r.now, 10); len(ds) > 0; ds = r.Plan(r.now, 10) {
				r.Resolve(ds[0], r.commit(ds[0]), r.now)
				r.feed()
			}
			if got := r.store.run("j/m2"); got.State != job.Pending || got.Reason != c.want {
				t.Errorf("got %s, want it pending: %s", describe(got), c.want)
			}
		})
	}
}

func TestSlotGoesBeforeALaterManualRun(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: minutely, Missed: job.MissedAll})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	later := job.Run{
		Job: "j", ID: "m", Kind: job.KindManual, Slot: r.now, Due: r.now.Add(time.Millisecond), State: job.Pending,
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: later.Name(), Value: &later})
	r.feed()
	r.now = r.now.Add(time.Second)
	if d := r.plan(); d.Run.Kind != job.KindScheduled || d.Run.State != job.Armed {
		t.Errorf("got %s, want the slot armed, because it was due first", describe(d.Run))
	}
}

func TestSlotsBeforeTheStartOfTheBlockingRunAreMissed(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: job.Duration(time.Second), Missed: job.MissedNone})
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Second)
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(3 * time.Second) // the worker starts the run late
	r.expectNone()
	claimed, _ := r.store.run(d.Run.Name()).Claim(d.Run.Rev, r.now.Add(-time.Second/2))
	if _, err := r.store.writeRun(claimed); err != nil {
		t.Fatal(err)
	}
	r.feed()
	r.expectNone()
	r.now = r.now.Add(8 * time.Second)
	r.expectNone() // the run had not started when the next slot was due
	done, _ := r.store.run(d.Run.Name()).Finish(job.Outcome{State: job.Succeeded, At: r.now})
	if _, err := r.store.writeRun(done); err != nil {
		t.Fatal(err)
	}
	r.feed()
	d = r.plan()
	if d.Event == nil || d.Event.Count != 2 {
		t.Errorf("got %+v, want the two slots before its start skipped", d)
	}
}

func TestAbsentWorkersAreForgotten(t *testing.T) {
	r := newRig(t)
	r.lead()
	for i := range 100 { // each worker has a new name, as each new pod has
		name := fmt.Sprintf("pod-%d", i)
		r.worker(name, 1)
		r.store.endWorker(name)
	}
	r.feed()
	if n := r.Workers(); n != 0 {
		t.Errorf("the planner knows %d workers, want none", n)
	}
}

// A recreated job starts with generation 1. A worker would wait for ever for the generation of the old one.
func TestRunIsArmedWithTheGenerationOfItsJob(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{})
	old := *r.store.job("j")
	old.Generation = 3
	r.store.putJob(old)
	r.store.put(job.Change{Kind: job.RecordRun, Name: "j/x", Value: &job.Run{
		Job: "j", ID: "x", Kind: job.KindManual, State: job.Pending, Slot: r.now, Due: r.now, Created: r.now, Generation: 3,
	}})
	r.lead()
	r.store.deleteJob("j")
	r.define("j", job.Spec{})
	r.worker("w", 1)
	r.feed()
	if d := r.plan(); d.Run == nil || d.Run.State != job.Armed || d.Run.Generation != 1 {
		t.Errorf("got %+v, want the run armed with generation 1", d.Run)
	}
}

// The worker with most room starts nothing. A run is assigned to it once, and then to another worker.
func TestRunAvoidsTheWorkerThatDidNotStartIt(t *testing.T) {
	r := newRig(t)
	r.define("j", job.Spec{Every: job.Duration(time.Hour)})
	r.worker("ghost", 10_000)
	r.worker("w", 1)
	r.lead()
	r.now = r.now.Add(time.Hour)
	d := r.plan()
	if d.Run.Worker != "ghost" {
		t.Fatalf("got worker %q, want the one with most room", d.Run.Worker)
	}
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.now = r.now.Add(planner.DefaultClaimTimeout)
	if run := r.plan().Run; run.Worker != "w" || run.State != job.Armed {
		t.Errorf("got %s on %q, want it armed on the other worker", run.State, run.Worker)
	}
}
