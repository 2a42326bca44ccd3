package history

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkEdited is checkSlots for a job whose definition changed: a run is that of a slot of the definition which was in
// force at its birth, and each definition had its slots decided up to where the cursor stood when it was replaced.
func (t *timeline) checkEdited(j Job) {
	for name, vs := range t.runs {
		born := vs[0]
		if born.run.Job != j.Name || born.run.Kind != job.KindScheduled {
			continue
		}
		d, ok := t.inForce(j.Name, born.Rev)
		if !ok {
			t.report(RuleSlot, name, "created"+at(born.Version)+" while there was no such job")
			continue
		}
		if next, err := next(Job{Name: j.Name, Spec: d.job.Spec}); err != nil || !isSlot(next, born.run) {
			t.report(RuleSlot, name, fmt.Sprintf("is no slot of generation %d of the job", d.job.Generation))
		}
	}
	var decided time.Time // slots up to here have been looked at
	for _, d := range t.definitions[j.Name] {
		as := j
		as.Spec = d.job.Spec
		next, err := next(as)
		if err != nil {
			t.report(RuleSlot, j.Name, err.Error())
			continue
		}
		end := t.reached(j.Name, d)
		from := d.job.Since
		if decided.After(from) {
			from = decided
		}
		for slot, ok := next(from); ok && !slot.After(end); slot, ok = next(slot) {
			t.checkSlot(as, slot)
			decided = slot
		}
	}
}

// inForce returns the definition from which something was decided at rev.
func (t *timeline) inForce(name string, rev int64) (definition, bool) {
	for _, d := range t.definitions[name] {
		if d.rev < rev && (d.over == 0 || rev <= d.over) {
			return d, true
		}
	}
	return definition{}, false
}

// reached is the last slot that was to be decided under a definition.
func (t *timeline) reached(name string, d definition) (end time.Time) {
	for _, c := range t.cursors[name] {
		if c.Rev > d.rev && (d.over == 0 || c.Rev < d.over) {
			end = c.cursor.After
		}
	}
	if until := d.job.Spec.End; d.over == 0 && until != nil && t.over.After(*until) {
		return *until
	}
	return end
}
