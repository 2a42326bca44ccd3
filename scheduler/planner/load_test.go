package planner_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

func TestLoad(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.define(name, job.Spec{Every: minutely})
	}
	r.worker("w", 1)
	r.lead()
	r.rests()
	want := func(when string, load planner.Load) {
		t.Helper()
		if got := r.Load(); got != load {
			t.Errorf("%s there is %+v, want %+v", when, got, load)
		}
	}
	settle := func() {
		for ds := r.Plan(r.now, 10); len(ds) > 0; ds = r.Plan(r.now, 10) {
			for _, d := range ds {
				a := r.commit(d)
				r.Resolve(d, a, r.now)
			}
			r.feed()
		}
	}
	want("at first", planner.Load{Capacity: 1})

	r.now = r.now.Add(time.Minute)
	settle()
	want("with three runs due", planner.Load{Capacity: 1, Held: 1, Waiting: 2})

	r.worker("v", 4)
	r.feed()
	settle()
	want("with another worker", planner.Load{Capacity: 5, Held: 3})

	r.worker("w", 1)
	r.store.putWorker(job.Worker{Name: "v", Session: "v-1", Capacity: 4, Draining: true})
	r.feed()
	settle()
	want("with one that drains", planner.Load{Capacity: 1, Held: 3})

	r.lead()
	want("in the next term, before it has looked", planner.Load{Capacity: 1, Held: 3})
}
