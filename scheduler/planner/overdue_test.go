package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOverdueRunsEndAlsoIfTermsAreShort lets one replica lead again and again. Only its first term begins with a margin.
func TestOverdueRunsEndAlsoIfTermsAreShort(t *testing.T) {
	r := newRig(t)
	r.define("report", job.Spec{Timeout: minutely})
	r.worker("q1", 1)
	r.lead()
	run := job.Run{Job: "report", ID: "x", Kind: job.KindManual, Slot: r.now, Due: r.now, State: job.Pending, Created: r.now}
	r.store.put(job.Change{Kind: job.RecordRun, Name: run.Name(), Value: &run})
	r.feed()
	d := r.plan()
	r.Resolve(d, r.commit(d), r.now)
	r.feed()
	r.claim("report/x", minutely)
	for range 10 {
		r.now = r.now.Add(59 * time.Second)
		r.lead()
		for _, d := range r.Plan(r.now, 10) {
			if d.Stop {
				return
			}
		}
	}
	t.Errorf("after %v nobody has asked the worker to end the attempt", r.now.Sub(midnight))
}
