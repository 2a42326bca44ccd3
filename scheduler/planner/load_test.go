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
	r.expectNone()
	want := func(when string, load planner.Load) {
		t.Helper()
		if got := r.Load(); got != load {
			t.Errorf("%s: got %+v, want %+v", when, got, load)
		}
	}
	decideAll := func() {
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
	decideAll()
	want("with three runs due", planner.Load{Capacity: 1, Held: 1, Waiting: 2})

	r.worker("v", 4)
	r.feed()
	decideAll()
	want("with a second worker", planner.Load{Capacity: 5, Held: 3})

	r.worker("w", 1)
	r.store.putWorker(job.Worker{Name: "v", Session: "v-1", Capacity: 4, Draining: true})
	r.feed()
	decideAll()
	want("with a draining worker", planner.Load{Capacity: 1, Held: 3})

	r.lead()
	want("in the next term, before the first Plan", planner.Load{Capacity: 1, Held: 3})

	away := map[string]string{"container": "no engine answers"}
	r.store.putWorker(job.Worker{Name: "u", Session: "u-1", Capacity: 8, Kinds: []string{"container"}, Away: away})
	r.store.putWorker(job.Worker{Name: "t", Session: "t-1", Capacity: 16, Kinds: []string{"command", "container"}, Away: away})
	r.feed()
	want("with a worker whose only kind is away, and one that has another", planner.Load{Capacity: 17, Held: 3})
}

func TestARunThatNoWorkerAcceptsIsNoLoadForAnAutoscaler(t *testing.T) {
	r := newRig(t)
	r.define("nowhere", job.Spec{Every: minutely, Workers: map[string]string{"zone": "none"}})
	r.worker("w", 1)
	r.lead()
	r.expectNone()
	r.now = r.now.Add(time.Minute)
	for ds := r.Plan(r.now, 10); len(ds) > 0; ds = r.Plan(r.now, 10) {
		for _, d := range ds {
			r.Resolve(d, r.commit(d), r.now)
		}
		r.feed()
	}
	if got, want := r.Load(), (planner.Load{Capacity: 1, Unmatched: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
