package planner_test

import (
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// garbled are the records that were overwritten with garbage, apart from definitions, cursors and runs.
type garbled struct {
	limits    map[string]bool
	backfills map[string]bool // jobs whose backfill was; they get no other one
	gate      bool
	was       job.Gate        // the last readable gate
	since     job.PastPause   // From: when the gate became unreadable
	outages   []job.PastPause // when it was unreadable, since a replica that started then paused all jobs, and pauses before
}

// garble overwrites the record of a limit, a backfill or the gate with garbage, or repairs all of them.
func (w *sim) garble() {
	g := &w.garbled
	if g.limits == nil {
		g.limits, g.backfills = make(map[string]bool), make(map[string]bool)
	}
	switch w.n(5) {
	case 0:
		name := []string{"few", "one", "slow"}[w.n(3)]
		w.log("limit %s is garbage", name)
		g.limits[name] = true
		w.store.putGarbage(job.RecordLimit, name)
	case 1:
		for _, name := range w.jobs {
			if b := w.store.backfill(name); b != nil && b.State == job.BackfillRunning {
				w.log("backfill of %s is garbage", name)
				g.backfills[name] = true
				w.store.putGarbage(job.RecordBackfill, name)
			}
		}
	case 2:
		if !g.gate {
			w.log("the gate is garbage")
			g.gate, g.was, g.since = true, w.store.gate(), job.PastPause{From: w.now.Add(-simOffset)}
			if p := g.was.Paused; p != nil {
				g.since.From = p.At
			}
			g.outages = append(g.outages, g.was.PauseHistory()...)
			w.store.putGarbage(job.RecordGate, "")
		}
	default:
		w.clean()
	}
}

// clean repairs what garble has overwritten. A backfill is removed: its old record would run slots again.
func (w *sim) clean() {
	for _, name := range slices.Sorted(maps.Keys(w.garbled.limits)) {
		w.putLimit(name, simLimits[name])
	}
	clear(w.garbled.limits)
	for _, name := range slices.Sorted(maps.Keys(w.garbled.backfills)) {
		if w.store.records[recordKey{job.RecordBackfill, name}].Bad != nil {
			w.store.remove(job.RecordBackfill, name)
		}
	}
	if w.garbled.gate {
		w.repairGate()
	}
}

// repairGate restores or removes the gate by hand, or lets a client pause or resume all jobs.
func (w *sim) repairGate() {
	g := &w.garbled
	g.gate, g.since.Until = false, w.now.Add(3*simLag) // the leader learns it late
	g.outages = append(g.outages, g.since)
	r := w.replicas[w.n(len(w.replicas))]
	switch n := w.n(3); {
	case n == 0 || r.planner == nil:
		w.log("the gate is restored")
		w.store.put(job.Change{Kind: job.RecordGate, Value: &g.was})
	case n == 1:
		w.log("the gate is removed")
		w.store.remove(job.RecordGate, "")
	default:
		now := r.clock().UTC()
		next, changed := r.gate.SetPause(nil, now)
		if !changed {
			next, _ = r.gate.SetPause(&job.Pause{At: now}, now)
		}
		w.log("%s replaces the gate, paused: %v", r.name, next.Paused != nil)
		w.store.put(job.Change{Kind: job.RecordGate, Value: &next})
	}
}

// mirrored returns a change in the form in which the mirror of the replica delivers it.
func (r *simReplica) mirrored(c job.Change) job.Change {
	if c.Kind != job.RecordGate {
		return asMirrored(c)
	}
	switch gate := job.ValueOf[job.Gate](c); {
	case c.Deleted():
		r.gate = &job.Gate{}
	case c.Bad == nil:
		r.gate = gate
	default:
		if r.gate == nil {
			r.gate = &job.Gate{Paused: &job.Pause{At: r.clock().UTC()}}
		}
		c.Value = r.gate
	}
	return c
}

// paused reports whether a slot or its due time lies in a pause.
func (c *checker) paused(j *job.Job, slot time.Time, offset time.Duration) bool {
	g := c.sim.store.gate()
	return slices.ContainsFunc(slices.Concat(j.PauseHistory(), g.PauseHistory(), c.sim.garbled.outages), func(p job.PastPause) bool {
		in := func(at time.Time) bool { return at.After(p.From) && !at.After(p.Until) }
		return in(slot) || in(slot.Add(offset))
	})
}
