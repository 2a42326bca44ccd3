package planner_test

import (
	"slices"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A run of a slot is followed if its job has steps. A run by hand and a retry are followed only if a client started steps with them.
func TestAnArmedRunSaysThatStepsFollowIt(t *testing.T) {
	for name, tt := range map[string]struct {
		kind     job.RunKind
		steps    bool // of the job
		started  bool // the steps, by a client
		followed bool
	}{
		"of a slot":            {job.KindScheduled, true, false, true},
		"of a job alone":       {job.KindScheduled, false, false, false},
		"by hand":              {job.KindManual, true, false, false},
		"by hand with steps":   {job.KindManual, true, true, true},
		"with steps of before": {job.KindManual, false, true, true},
		"a retry":              {job.KindRetry, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define("first", job.Spec{})
			if r.define("second", job.Spec{}); tt.steps {
				r.define("second", job.Spec{After: []job.After{{Job: "first", When: job.WhenDone}}})
			}
			r.worker("w1", 1)
			r.lead()
			run := job.Run{Job: "first", ID: "x", Kind: tt.kind, Slot: r.now, Due: r.now, State: job.Pending, Created: r.now}
			if tt.kind == job.KindScheduled {
				run.ID = job.SlotID(r.now)
			}
			r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
			if tt.started {
				step := job.Run{
					Job: "second", ID: "y", Kind: tt.kind, Slot: r.now, Due: job.WhenParentsEnd, State: job.Pending, Created: r.now,
					Reason: job.ReasonParents, After: []job.Parent{{Job: run.Job, ID: run.ID, When: job.WhenDone}},
				}
				r.store.put(job.Change{Kind: job.RecordRun, Name: step.Name(), Value: &step})
			}
			r.feed()
			if d := r.plan(); d.Run == nil || d.Run.State != job.Armed || d.Run.Followed != tt.followed {
				t.Errorf("got %+v", d.Run)
			}
		})
	}
}

// A decision about a step depends on the definition of the step and on the records of its parents, also on those that do not exist.
func TestAStepDependsOnItsParents(t *testing.T) {
	r := newRig(t)
	r.define("first", job.Spec{})
	r.define("other", job.Spec{})
	r.define("last", job.Spec{After: []job.After{{Job: "first", When: job.WhenDone}, {Job: "other", When: job.WhenDone}}})
	r.worker("w1", 1)
	r.lead()
	first := job.Run{
		Job: "first", ID: "x", Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Succeeded, Created: r.now, Finished: r.now,
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: first.Name(), Value: &first})
	step := job.Run{
		Job: "last", ID: "x", Kind: job.KindManual, Slot: r.now, Due: job.WhenParentsEnd, State: job.Pending, Created: r.now,
		Reason: job.ReasonParents, After: []job.Parent{{Job: "first", When: job.WhenDone}, {Job: "other", When: job.WhenDone}},
	}
	r.store.put(job.Change{Kind: job.RecordRun, Name: step.Name(), Value: &step})
	r.feed()
	d := r.plan()
	want := []job.Guard{
		{Kind: job.RecordRun, Name: "first/x", Rev: r.store.run("first/x").Rev},
		{Kind: job.RecordRun, Name: "other/x"},
	}
	if d.Run == nil || d.Run.Job != "last" || !slices.Equal(d.Guards, want) || d.JobRev != r.store.job("last").Rev {
		t.Errorf("got %+v of %+v, want the step decided by the definition at %d and %+v", d, d.Run, r.store.job("last").Rev, want)
	}
}
