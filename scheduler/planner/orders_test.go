package planner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// write writes the only decision of the planner.
func (r *rig) write() job.Decision {
	r.Helper()
	d := r.plan()
	a := r.commit(d)
	if a.Err != nil {
		r.Fatal(a.Err)
	}
	r.Resolve(d, a, r.now)
	r.feed()
	return d
}

// running returns a rig in which a worker has begun the run of the first slot of j, and the name of that run.
func running(t *testing.T, spec job.Spec) (*rig, string) {
	r := newRig(t)
	spec.Every = minutely
	r.define("j", spec)
	r.worker("q1", 1)
	r.lead()
	r.now = r.now.Add(time.Minute)
	name := r.write().Run.Name()
	r.claim(name, minutely)
	r.feed()
	return r, name
}

func TestAnOverdueAttemptIsMarkedAsGivenUp(t *testing.T) {
	r, _ := running(t, job.Spec{Overlap: job.OverlapReplace, Timeout: minutely, End: new(midnight.Add(90 * time.Second))})
	r.now = r.now.Add(time.Minute + planner.DefaultStopMargin)
	if d := r.write(); !d.Stop || d.GaveUp {
		t.Errorf("got %+v, want a request to stop the attempt", d)
	}
	r.now = r.now.Add(planner.DefaultStopPatience)
	d := r.write()
	if !d.GaveUp || d.Run.State != job.TimedOut || len(d.Run.Attempts) != 1 || !d.Run.Attempts[0].GivenUp {
		t.Errorf("got %+v, want an attempt that was given up", d.Run)
	}
}

func TestTheWorkerOfAReplacedRunIsAskedToStopIt(t *testing.T) {
	r, name := running(t, job.Spec{Overlap: job.OverlapReplace})
	r.now = r.now.Add(time.Minute)
	if d := r.write(); d.Run.Name() != name || d.Run.Cancel == nil || !d.Stop {
		t.Errorf("got %+v, want a request to stop %s", d, name)
	}
}

// TestASkipDependsOnTheRunInTheWay looks at the guards of a skip: the end of the earlier run may be on its way to the planner.
func TestASkipDependsOnTheRunInTheWay(t *testing.T) {
	r, name := running(t, job.Spec{})
	r.now = r.now.Add(time.Minute)
	r.expectNone()
	r.now = r.now.Add(planner.DefaultWorkerTTL)
	d := r.write()
	want := job.Guard{Kind: job.RecordRun, Name: name, Rev: r.store.run(name).Rev}
	if d.Run.State != job.Skipped || !slices.Contains(d.Guards, want) {
		t.Errorf("got %s with the guards %+v, want %+v", d.Run.State, d.Guards, want)
	}
}
