package planner_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAnArmedRunSaysThatStepsFollowIt(t *testing.T) {
	for name, parent := range map[string]string{"followed": "first", "not followed": "other"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for _, name := range []string{"first", "other"} {
				r.define(name, job.Spec{})
			}
			r.define("second", job.Spec{After: []job.After{{Job: parent, When: job.WhenDone}}})
			r.worker("w1", 1)
			r.lead()
			run := job.Run{Job: "first", ID: "x", Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending, Created: r.now}
			r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
			r.feed()
			if d := r.plan(); d.Run == nil || d.Run.State != job.Armed || d.Run.Followed != (parent == "first") {
				t.Errorf("got %+v", d.Run)
			}
		})
	}
}
