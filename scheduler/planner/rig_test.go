package planner_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// rig is a planner with its store, and a clock that the test sets.
type rig struct {
	*testing.T
	*planner.Planner
	store *fakeStore
	now   time.Time
	fed   int
}

func newRig(t *testing.T) *rig {
	return &rig{T: t, Planner: planner.New(planner.Config{}), store: newFakeStore(), now: midnight}
}

func (r *rig) feed() {
	for ; r.fed < len(r.store.log); r.fed++ {
		r.Apply(asMirrored(r.store.log[r.fed]), r.now)
	}
}

// asMirrored returns a change in the form in which a mirror delivers it.
func asMirrored(c job.Change) job.Change {
	if r := job.ValueOf[job.Run](c); r != nil {
		if d := r.Delay(); d != nil {
			c.Value = d
		}
	}
	return c
}

func (r *rig) lead() {
	r.feed()
	r.store.term++
	r.Lead(r.now)
}

func (r *rig) define(name string, spec job.Spec) {
	spec.Command = []string{"true"}
	r.store.putJob(job.Job{Name: name, Generation: 1, Since: r.now, SinceReason: job.SinceCreated, Spec: new(spec.WithDefaults())})
}

func (r *rig) worker(name string, capacity int) {
	r.store.putWorker(job.Worker{Name: name, Session: name + "-1", Capacity: capacity})
}

// plan returns the decision of the planner. It fails the test unless there is exactly one.
func (r *rig) plan() job.Decision {
	r.Helper()
	ds := r.Plan(r.now, 10)
	if len(ds) != 1 {
		r.Fatalf("got %d decisions, want 1: %+v", len(ds), ds)
	}
	return ds[0]
}

// expectNone fails if the planner decides anything.
func (r *rig) expectNone() {
	r.Helper()
	if ds := r.Plan(r.now, 10); len(ds) != 0 {
		r.Fatalf("got %d decisions, want none: %+v", len(ds), ds[0])
	}
}

// commit sends a decision to the store and returns the answer. The planner does not get it.
func (r *rig) commit(d job.Decision) job.Applied {
	return r.store.commit(r.store.term, []job.Decision{d})[0]
}

// claim claims an armed run, as its worker does. bound is that of the claim.
func (r *rig) claim(name string, bound job.Duration) job.Run {
	r.Helper()
	armed := r.store.run(name)
	claimed, err := armed.Claim(armed.Rev, r.now)
	if err == nil {
		claimed.Bound = bound
		claimed, err = r.store.writeRun(claimed)
	}
	if err != nil {
		r.Fatal(err)
	}
	return claimed
}

const minutely = job.Duration(time.Minute)

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
