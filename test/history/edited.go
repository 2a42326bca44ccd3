package history

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkEdited does the same as checkSlots for a job whose definition changed. A run belongs to a slot of the definition that
// was in force when the run was created. The slots of each definition are decided up to the cursor at its replacement.
func (t *timeline) checkEdited(j Job) {
	slots := make([][]time.Time, len(t.definitions[j.Name]))
	for i, d := range t.definitions[j.Name] {
		var err error
		if slots[i], err = t.slotsAround(Job{Name: j.Name, Spec: *d.job.Spec}, d.job.Since, t.reached(j.Name, d)); err != nil {
			t.report(RuleSlot, j.Name, err.Error())
		}
	}
	for name, vs := range t.runsOf(j.Name) {
		born := vs[0]
		if born.run.Job != j.Name || born.run.Kind != job.KindScheduled {
			continue
		}
		i, ok := t.inForce(j.Name, born.Rev)
		if !ok {
			t.reportAs(Unknown, RuleSlot, name, "created"+at(born.Version)+" while the job did not exist")
		} else if !isSlot(slots[i], born.run) {
			t.reportAs(Unknown, RuleSlot, name, fmt.Sprintf("is no slot of generation %d of the job", t.definitions[j.Name][i].job.Generation))
		}
	}
	var decided time.Time // slots up to here have been checked
	for i, d := range t.definitions[j.Name] {
		as := j
		as.Spec = *d.job.Spec
		from, end := job.Later(d.job.Since, decided), t.reached(j.Name, d)
		for _, slot := range slots[i] {
			if slot.After(from) && !slot.After(end) {
				t.checkSlot(as, slot)
				decided = slot
			}
		}
	}
}

// inForce returns the index of the definition that was in force for a decision at rev.
func (t *timeline) inForce(name string, rev int64) (int, bool) {
	for i, d := range t.definitions[name] {
		if d.rev < rev && (d.over == 0 || rev <= d.over) {
			return i, true
		}
	}
	return 0, false
}

// reached returns the last slot that had to be decided under a definition.
func (t *timeline) reached(name string, d definition) (end time.Time) {
	for _, c := range t.cursors[name] {
		if c.Rev > d.rev && (d.over == 0 || c.Rev < d.over) {
			end = c.cursor.After
		}
	}
	if d.over != 0 { // a slot that was undecided at the replacement need not run
		return end
	}
	if until, over := t.scheduleOver(d.job.Spec); over {
		return until
	}
	return job.Later(end, t.owedUntil(name))
}
