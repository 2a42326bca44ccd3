package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// flowChange takes in a change of a definition or a cursor, in the order of the log.
func (c *checker) flowChange(ch job.Change) {
	f := c.sim.flow
	switch {
	case f == nil || ch.Bad != nil:
	case ch.Kind == job.RecordCursor:
		f.cursors[ch.Name] = job.ValueOf[job.Cursor](ch)
	case ch.Kind == job.RecordJob:
		f.defined[ch.Name] = job.ValueOf[job.Job](ch)
	}
}

// follows reports whether a step has the job of r as a parent.
func follows(step *job.Job, r *job.Run) bool {
	return slices.ContainsFunc(step.Spec.After, func(a job.After) bool { return a.Job == r.Job })
}

// newParent checks that no step has passed the slot of a run that is created.
func (c *checker) newParent(r *job.Run) {
	f := c.sim.flow
	if f == nil || r.Kind != job.KindScheduled {
		return
	}
	for _, name := range f.jobs[1:] {
		step := f.defined[name]
		if step == nil || !follows(step, r) || c.sim.tampered[name] || !r.Slot.After(step.Scheduled) {
			continue
		}
		if f.cursors[name].Passed(r.Slot) && c.runs[name+"/"+r.ID] == nil {
			c.fail("run %s is created, but step %s has passed the slot: %v", r.Name(), name, f.cursors[name].After)
		}
	}
}

// stepRun checks the run of a step when it is decided: by the ends of its parents, and after them.
func (c *checker) stepRun(old, r *job.Run) {
	decided := len(r.After) > 0 && !r.AwaitsParents() && (old == nil || old.AwaitsParents())
	repeated := old == nil && r.Kind == job.KindRetry // a person decides
	if !decided || repeated || r.State == job.Canceled {
		return
	}
	for i := range r.After {
		a := &r.After[i]
		parent := c.runs[a.Job+"/"+a.RunID(r)]
		switch {
		case parent == nil && r.State != job.Skipped:
			c.fail("run %s is %s, but parent %s has no run", r.Name(), r.State, a.Job)
		case parent == nil:
		case !parent.State.Terminal():
			c.fail("run %s is %s, but parent %s is %s", r.Name(), r.State, a.Job, parent.State)
		case a.State != parent.State && a.State != "":
			c.fail("run %s says that parent %s is %s, but it is %s", r.Name(), a.Job, a.State, parent.State)
		case !a.When.Met(parent.State) && r.State != job.Skipped:
			c.fail("run %s is %s, but parent %s is %s", r.Name(), r.State, a.Job, parent.State)
		}
	}
}

// stepCursor checks that the cursor of a step moves forward, and only past slots for which the step has a run.
func (c *checker) stepCursor(j *job.Job, d job.Decision) {
	old := c.sim.store.cursor(d.Job)
	if old == nil && c.sim.tampered[d.Job] {
		return // the old value of the cursor is lost
	}
	for name, r := range c.runs {
		if r.Job == other && c.sim.store.run(name) == nil { // history removed it, perhaps before the step followed this job
			continue
		}
		step := d.Job + "/" + r.ID
		here := d.Run != nil && d.Run.Name() == step
		switch before, after := old.Passed(r.Slot), d.Cursor.Passed(r.Slot); {
		case r.Kind != job.KindScheduled || !follows(j, r):
		case before && !after:
			c.fail("cursor of %s goes back over %s", d.Job, name)
		case !before && after && r.Slot.After(j.Scheduled) && !here && c.runs[step] == nil:
			c.fail("cursor of %s passes %s, but there is no run %s", d.Job, name, step)
		}
	}
}

// stepsDecided checks that each step has a run for each slot whose parents ended before healed.
func (c *checker) stepsDecided(healed time.Time) {
	f := c.sim.flow
	if f == nil {
		return
	}
	for _, name := range f.jobs[1:] {
		step, cursor := c.sim.store.job(name), c.sim.store.cursor(name)
		full := cursor != nil && len(cursor.Beyond) > job.MaxBeyond*9/10 // later slots wait for an earlier one
		if step == nil || c.sim.tampered[name] || full {
			continue
		}
		for _, r := range c.runs {
			if r.Kind != job.KindScheduled || !follows(step, r) || !r.Slot.After(step.Scheduled) || r.Slot.After(healed) {
				continue
			}
			if r.Job == other && cursor.Passed(r.Slot) { // the step did not follow this job when it passed the slot: see stepCursor
				continue
			}
			if c.runs[name+"/"+r.ID] == nil && c.parentsEnded(step, r.ID, healed) {
				c.fail("step %s has no run for %s, which ended %s; cursor %v", name, r.Name(), r.State, cursor)
			}
		}
	}
}

// parentsEnded reports whether all parents of a step that have a run of an id ended before healed. A parent without one has
// passed the slot.
func (c *checker) parentsEnded(step *job.Job, id string, healed time.Time) bool {
	return !slices.ContainsFunc(step.Spec.After, func(a job.After) bool {
		p := c.runs[a.Job+"/"+id]
		if slot, err := time.Parse(time.RFC3339Nano, id); p == nil && isRoot(a.Job) && err == nil {
			return !c.sim.flow.cursors[a.Job].Passed(slot)
		}
		return p != nil && (!p.State.Terminal() || p.Ended().After(healed))
	})
}
