package verify

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// checkMoved checks one move of a cursor. A wrong move, as by hand, is reported once: a leader that knows the cursor before it
// goes on from there, and this repairs it.
func (l *replay) checkMoved(before, after *job.Cursor, batch []job.Change) {
	if known := l.strayed[after.Job]; known != nil && !after.After.Before(known.After) &&
		(after.After.Before(before.After) || before.After.Before(known.After)) {
		before = known
	}
	delete(l.strayed, after.Job)
	found := len(l.report.Violations)
	if l.checkAdvance(before, after, batch); len(l.report.Violations) > found {
		l.strayed[after.Job] = before
	}
}

// checkAdvance checks one move of a cursor. It must go forward, and every slot that it passes must have a run or a reason.
func (l *replay) checkAdvance(before, after *job.Cursor, batch []job.Change) {
	if after.After.Before(before.After) {
		l.broken(5, after.Job, after.Rev, "its cursor went back from %s to %s", job.SlotID(before.After), job.SlotID(after.After))
		return
	}
	def := l.defs[after.Job]
	if def == nil || def.Generation != after.Generation || l.gate == nil {
		return
	}
	if def.Spec.Step() {
		l.checkStepAdvance(before, after, def)
		return
	}
	when, err := policy.When(def.Name, def.Spec)
	if err != nil || when == nil {
		return
	}
	from := job.Later(def.Since, l.gate.Since)
	if before.Generation >= def.SinceGeneration { // otherwise the schedule is new, and must decide all its slots
		from = job.Later(from, before.After)
	}
	l.checkPassed(when, after, from, batch, "passed")
}

// skipped reports whether an event in batch or in the store explains why a slot of the job has no run. end is the last
// slot that the event explains.
func (c *checker) skipped(batch []job.Change, name string, slot time.Time) (end time.Time, ok bool) {
	for _, ch := range batch {
		if e := job.ValueOf[job.Event](ch); e != nil && e.Job == name && covers(e, slot) {
			return e.To, true
		}
	}
	if s := c.jobs[name]; s != nil {
		for _, e := range s.skips {
			if covers(e, slot) {
				return e.To, true
			}
		}
	}
	return time.Time{}, false
}

func covers(e *job.Event, slot time.Time) bool {
	return e.Kind == job.EventSkipped && !slot.Before(e.From) && !slot.After(e.To)
}
