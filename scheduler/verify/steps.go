package verify

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// checkStep checks that a run which follows others was decided by their ends, and after them.
func (c *checker) checkStep(r *job.Run) {
	if len(r.After) == 0 || r.AwaitsParents() || r.State == job.Canceled && r.Attempt == 0 {
		return
	}
	for i := range r.After {
		a := &r.After[i]
		name := a.Job + "/" + a.RunID(r)
		if r.State != job.Skipped && !a.When.Met(a.State) && !r.RepeatedAlone() {
			c.broken(5, r.Name(), r.Rev, "it did not wait for %s to end with %s: that run is %s", name, whenOf(a), stateOf(a.State))
		}
		parent := c.runs[name]
		if parent == nil || a.State == "" { // removed from history, or there was none
			continue
		}
		switch {
		case parent.State != a.State:
			c.broken(5, r.Name(), r.Rev, "it follows %s, which was %s then and is %s", name, a.State, parent.State)
		case parent.Rev > r.Rev, r.Kind == job.KindScheduled && parent.Rev > c.created[r.Name()]:
			c.broken(5, r.Name(), r.Rev, "it was decided before %s had ended, at revision %d", name, parent.Rev)
		}
	}
}

func whenOf(a *job.Parent) job.When {
	if a.When == "" {
		return job.WhenSuccess
	}
	return a.When
}

func stateOf(s job.State) string {
	if s == "" {
		return "missing"
	}
	return string(s)
}

// checkStepSlots checks the slots that a step has passed, as far back as its history reaches. If a parent has a run of such a
// slot, the step has one too.
func (c *checker) checkStepSlots(s *subject) {
	edge, any := historyEdge(s.runs, s.def.Spec.Breaker)
	if !any {
		return
	}
	edge = job.Later(edge, policy.SlotsAfter(s.def, nil))
	for _, a := range s.def.Spec.After {
		parent := c.jobs[a.Job]
		if parent == nil {
			continue
		}
		for _, r := range parent.runs {
			name := s.name + "/" + r.ID
			if r.Kind != job.KindScheduled || !r.Slot.After(edge) || !s.cursor.Passed(r.Slot) || r.Rev > s.cursor.Rev {
				continue
			}
			if !c.known[name] {
				c.broken(5, name, s.cursor.Rev, "the cursor is past it, but it has neither a run nor a reason, although %s has a run", a.Job)
				continue
			}
			c.proven[name] = true
		}
	}
}

// checkFollows checks one change of a run that follows others: at that moment its parents had ended as it says.
func (l *replay) checkFollows(before, after *job.Run) {
	decided := len(after.After) > 0 && !after.AwaitsParents() && (before == nil || before.AwaitsParents())
	if !decided || after.State == job.Canceled {
		return
	}
	for i := range after.After {
		a := &after.After[i]
		name := a.Job + "/" + a.RunID(after)
		parent := l.runs[name]
		if parent == nil { // the log does not show it
			continue
		}
		if parent.State != a.State || !parent.State.Terminal() {
			l.broken(5, after.Name(), after.Rev, "it was decided while %s was %s", name, parent.State)
		}
	}
}

// checkStepAdvance checks one move of a step's cursor: for every slot that it passes and for which a parent has a run, the step has
// one too.
func (l *replay) checkStepAdvance(before, after *job.Cursor, def *job.Job) {
	from := job.Later(before.After, policy.SlotsAfter(def, nil))
	for _, a := range def.Spec.After {
		for _, r := range l.slots[a.Job] {
			if !passedNow(r.Slot, from, before, after) {
				continue
			}
			step := after.Job + "/" + r.ID
			if l.known[step] {
				l.proven[step] = true
				continue
			}
			l.broken(5, step, after.Rev, "the cursor passed it, but it has neither a run nor a reason, although %s has a run", r.Name())
		}
	}
}

// setRun records the present record of a run; nil: it is gone.
func (l *replay) setRun(name string, r *job.Run) {
	if before := l.runs[name]; before != nil && before.Kind == job.KindScheduled {
		delete(l.slots[before.Job], before.ID)
	}
	if r == nil {
		delete(l.runs, name)
		return
	}
	l.runs[name] = r
	if r.Kind == job.KindScheduled {
		if l.slots[r.Job] == nil {
			l.slots[r.Job] = make(map[string]*job.Run)
		}
		l.slots[r.Job][r.ID] = r
	}
}

// passedNow reports whether a slot lies between two cursors of a step.
func passedNow(slot, from time.Time, before, after *job.Cursor) bool {
	return slot.After(from) && !before.Passed(slot) && after.Passed(slot)
}
