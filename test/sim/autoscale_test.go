package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/test/history"
)

// The load of TestWorkersFollowTheLoad, and the bounds of the autoscaler.
const (
	fewWorkers, manyWorkers = 10, 100
	eachTakes               = 2 // concurrent runs
	floodJobs               = 200
	floodEvery              = 10 * time.Second
	floodWork               = 9 * time.Second
	scaleEvery              = 5 * time.Second
	scaleDown               = time.Minute // how long the load must be lower before workers stop
)

// TestWorkersFollowTheLoad gives ten workers ten times the load that they can bear. An autoscaler knows only the leader's
// metrics. There must be as many workers as the load needs and no waiting run, and later ten workers again. Every slot runs
// once.
func TestWorkersFollowTheLoad(t *testing.T) {
	dir, count := disks(t), newTally()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, floodPlan(), dir, hclog.NewNullLogger(), count)
		w.flood()
		w.close()
	})
}

// floodPlan returns a cluster of replicas that do not work, and machines for workers.
func floodPlan() plan {
	p := plan{seed: 1, work: make(map[string]work), began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	from := p.began.Add(10 * time.Second)
	p.windows = []window{{from, from.Add(3 * time.Minute)}}
	for i := range 3 + manyWorkers {
		m := machineSpec{replica: i < 3}
		if !m.replica {
			m.capacity = eachTakes
		}
		p.machines = append(p.machines, m)
	}
	d := throw(p.seed, "flood")
	for i := range floodJobs {
		spec := job.Spec{Every: job.Duration(floodEvery), Start: &from, Missed: job.MissedAll, Overlap: job.OverlapQueue}
		p.add(d, fmt.Sprintf("flood-%d", i), history.Job{Spec: spec}, work{least: floodWork, most: floodWork})
	}
	return p
}

// flood runs the phases of TestWorkersFollowTheLoad.
func (w *world) flood() {
	time.Sleep(time.Until(w.plan.began))
	for _, j := range w.plan.jobs {
		if err := w.caller.define(context.Background(), j.Name, j.Spec); err != nil {
			w.t.Fatal(err)
		}
	}
	workers := w.machines[3:]
	for _, m := range w.machines[:3+fewWorkers] {
		m.start()
	}
	running, most, seen := fewWorkers, 0, planner.Load{}
	var wanted []int // recent targets of the autoscaler
	scale := func() {
		load, ok := w.load()
		if !ok {
			return
		}
		wanted = append(wanted, min(max((load.Held+load.Waiting+eachTakes-1)/eachTakes, fewWorkers), manyWorkers))
		want := slices.Max(wanted[max(0, len(wanted)-int(scaleDown/scaleEvery)):])
		for ; running < want; running++ {
			workers[running].start()
		}
		for ; running > want; running-- {
			workers[running-1].stop()
		}
		most, seen.Waiting = max(most, running), max(seen.Waiting, load.Waiting)
	}
	for at := w.plan.windows[0].from; at.Before(w.plan.end()); at = at.Add(scaleEvery) {
		w.runUntil(at)
		scale()
	}
	if load, _ := w.load(); load.Waiting > 0 {
		w.t.Errorf("with %d workers there is %+v: some runs still find no room", running, load)
	}
	if seen.Waiting < 2*fewWorkers*eachTakes || most < manyWorkers*9/10 {
		w.t.Errorf("%d runs waited and there were %d workers at most: that was no flood", seen.Waiting, most)
	}
	for range 2 * int(scaleDown/scaleEvery) {
		time.Sleep(scaleEvery)
		scale()
	}
	load, _ := w.load()
	if want := (planner.Load{Capacity: fewWorkers * eachTakes}); load != want {
		w.t.Errorf("when all is done there is %+v with %d workers, want %+v", load, running, want)
	}
	w.t.Logf("up to %d runs waited, up to %d workers", seen.Waiting, most)
	w.settle()
	w.judge()
}

// load returns the leader's metrics about the load; false without a leader.
func (w *world) load() (planner.Load, bool) {
	for _, m := range w.machines[:3] {
		if s := m.process.scheduler.Status(); s.Term != 0 {
			return s.Load, true
		}
	}
	return planner.Load{}, false
}
