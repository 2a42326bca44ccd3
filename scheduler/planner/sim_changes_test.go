package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// changeLimit changes, removes or restores one of the limits.
func (w *sim) changeLimit() {
	name := []string{"few", "one", "slow"}[w.n(3)]
	if w.chance(0.2) {
		w.log("limit %s is removed", name)
		w.store.remove(job.RecordLimit, name)
		return
	}
	spec := simLimits[name]
	switch w.n(3) {
	case 0:
		spec.Concurrent = 1 + w.n(3)
	case 1:
		spec.Rate = job.Rate{Count: 10 + w.n(30), Per: time.Minute}
	}
	w.putLimit(name, spec)
}

func (w *sim) putLimit(name string, spec job.LimitSpec) {
	w.log("limit %s: %+v", name, spec)
	w.ids++
	l := job.Limit{Name: name, Generation: int64(w.ids), Updated: w.now, Spec: spec}
	w.store.put(job.Change{Kind: job.RecordLimit, Name: name, Value: &l})
}

// retry repeats an ended run, as the API does.
func (w *sim) retry() {
	runs := slices.DeleteFunc(w.store.runs(), func(r *job.Run) bool {
		return !r.State.Terminal() || r.Job == "all" || r.Spec == nil && w.store.job(r.Job) == nil
	})
	if len(runs) == 0 {
		return
	}
	old := runs[w.n(len(runs))]
	w.ids++
	at := w.apiClock()
	r := job.Run{
		Job: old.Job, ID: fmt.Sprintf("m%d", w.ids), Kind: job.KindRetry, Slot: old.Slot, Due: at, State: job.Pending,
		Reason: job.ReasonNew, Created: at, Spec: old.Spec, RetryOf: old.Name(), After: workflow.Follow(old), On: old.On,
	}
	if workflow.Waited(old) {
		r.Due, r.Reason = job.WhenParentsEnd, job.ReasonParents
	}
	w.log("retry %s as %s", old.Name(), r.ID)
	_, _ = w.store.writeRun(r)
}

// drain lets a worker accept no new runs, as under pressure, or accept runs again.
func (x *simWorker) drain() {
	w := x.sim
	c := job.ValueOf[job.Worker](w.store.records[recordKey{job.RecordWorker, x.name}])
	if c == nil || c.Session != x.session || x.gone || !x.back.IsZero() || w.now.Before(x.pausedTill) {
		return
	}
	next := *c
	if w.chance(0.3) {
		if x.away, next.Away = !x.away, nil; x.away {
			next.Away = map[string]string{"command": "nothing answers"}
		}
	} else {
		next.Draining = !c.Draining
		x.draining = next.Draining
	}
	w.log("%s drains: %v, away: %v", x.name, x.draining, x.away)
	w.store.putWorker(next)
}

// waited checks that start_within holds: no run begins after it, and none is skipped before. The slot of a run
// that was armed ahead and taken back is decided as a new one.
func (c *checker) waited(old, r *job.Run) {
	j := c.sim.store.job(r.Job)
	if old != nil && old.Ahead || j == nil || r.Generation != j.Generation || j.Spec.StartWithin == 0 || r.Spec != nil || len(r.After) > 0 {
		return
	}
	until := job.Later(r.Due, r.Created).Add(j.Spec.StartWithin.Std())
	switch {
	case r.State == job.Armed && r.Attempt == 1 && len(r.Attempts) == 0 && !r.Armed.Before(until):
		c.fail("run %s is armed at %v, but may wait only until %v", r.Name(), r.Armed, until)
	case r.State == job.Skipped && strings.HasPrefix(r.Reason, "waited") && r.Finished.Before(until):
		c.fail("run %s is skipped at %v, but may wait until %v: %s", r.Name(), r.Finished, until, r.Reason)
	}
}

// late checks that a slot is recorded as late only if its run had not ended by then, and only once.
func (c *checker) late(ch job.Change) {
	if r := job.ValueOf[job.Run](ch); r != nil && r.State.Terminal() && c.ended[r.Name()].IsZero() {
		c.ended[r.Name()] = c.sim.now
	}
	e := job.ValueOf[job.Event](ch)
	if e == nil || e.Kind != job.EventLate {
		return
	}
	by, err := time.Parse(time.RFC3339, strings.TrimPrefix(e.Reason, "not finished by "))
	if ended := c.ended[e.Run]; err != nil || !ended.IsZero() && ended.Before(by) {
		c.fail("run %s ended at %v, and is recorded as %q: %v", e.Run, ended, e.Reason, err)
	}
	if id := e.Run + " " + e.ID; c.lates[id] {
		c.fail("run %s is recorded twice as %q", e.Run, e.Reason)
	} else {
		c.lates[id], c.lates[e.Run] = true, true
	}
}

// lateRecorded checks that each run which was late after everything was healed is recorded as late. A job
// that catches up records it after its other decisions.
func (c *checker) lateRecorded(healed time.Time) {
	for name, r := range c.runs {
		j, ended := c.sim.store.job(r.Job), c.ended[name]
		if j == nil || j.Spec.FinishBy == "" || r.Kind != job.KindScheduled || c.lates[name] {
			continue
		}
		if ended.IsZero() {
			ended = c.sim.now
		}
		if by, ok := policy.FinishBy(j.Spec, r.Slot); ok && ended.Sub(job.Later(by, healed)) > 90*time.Second {
			c.fail("run %s ended at %v, and is not recorded as late: it should have ended by %v", name, ended, by)
		}
	}
}

// wasNotSkipped checks that a slot with a new run was not skipped before.
func (c *checker) wasNotSkipped(r *job.Run) {
	if r.Kind == job.KindScheduled && !c.sim.tampered[r.Job] && slices.ContainsFunc(c.skips[r.Job], covers(r.Slot)) {
		c.fail("slot %s gets a run, and was skipped before", r.Name())
	}
}
