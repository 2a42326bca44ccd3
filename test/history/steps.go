package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkSteps checks the slots of a step: those for which a parent has a run. Once all parents have ended, the step has one run. It
// was decided after their ends, and it runs if and only if these ends meet the conditions. The record of a scheduled run appears with
// that decision, and the record of a backfilled run waits for it.
func (t *timeline) checkSteps(j Job) {
	ids := make(map[string]bool)
	for _, a := range j.Spec.After {
		for name, vs := range t.runsOf(a.Job) {
			if r := vs[0].run; r.Job == a.Job && (r.Kind == job.KindScheduled && r.Slot.After(t.since[j.Name]) || t.backfills(j, vs[0])) {
				ids[strings.TrimPrefix(name, a.Job+"/")] = true
			}
		}
	}
	for name, vs := range t.runsOf(j.Name) {
		r := vs[0].run
		if id := strings.TrimPrefix(name, j.Name+"/"); r.Job == j.Name && (r.Kind == job.KindScheduled || r.Kind == job.KindBackfill) && !ids[id] && !t.parentByHand(j, id) {
			t.report(RuleStep, name, "no parent has a run of this slot")
		}
	}
	for id := range ids {
		t.checkStep(j, id)
	}
}

// backfills reports whether v created a backfilled run of a parent while the step j existed. The step then runs for the same slot.
func (t *timeline) backfills(j Job, v runVersion) bool {
	ds := t.definitions[j.Name]
	return v.run.Kind == job.KindBackfill && len(ds) > 0 && ds[0].rev < v.Rev
}

func (t *timeline) parentByHand(j Job, id string) bool {
	return slices.ContainsFunc(j.Spec.After, func(a job.After) bool { return t.ByHand[t.Prefix+"/runs/"+a.Job+"/"+id] })
}

func (t *timeline) checkStep(j Job, id string) {
	name := j.Name + "/" + id
	if t.parentByHand(j, id) || t.ByHand[t.Prefix+"/runs/"+name] {
		return
	}
	allowed, ended, late := true, true, ""
	var decided int64 // the revision at which the last parent ended
	for _, a := range j.Spec.After {
		vs := t.runs[a.Job+"/"+id]
		i := slices.IndexFunc(vs, func(v runVersion) bool { return v.run.State.Terminal() })
		if i < 0 { // it has no run, or no end
			allowed, ended = false, ended && len(vs) == 0
			late = a.Job
			continue
		}
		if v := vs[i]; v.Rev > decided {
			decided, late = v.Rev, a.Job
		}
		allowed = allowed && meets(a.When, vs[i].run.State) && !t.skippedSlot(a.Job, id)
	}
	t.slots++
	vs := t.runs[name]
	if len(vs) == 0 {
		if ended {
			t.report(RuleStep, name, "has no run, although all its parents have ended")
		}
		return
	}
	i := slices.IndexFunc(vs, func(v runVersion) bool { return !v.run.AwaitsParents() })
	if i < 0 {
		if ended {
			t.report(RuleStep, name, "waits, although all its parents have ended")
		}
		return
	}
	end := last(vs)
	skipped := end.State == job.Skipped && strings.HasPrefix(end.Reason, "parent ")
	switch {
	case !ended || vs[i].Rev <= decided:
		t.report(RuleStep, name, fmt.Sprintf("decided%s, before its parent %s had ended", at(vs[i].Version), late))
	case !allowed && end.State != job.Skipped:
		t.report(RuleStep, name, fmt.Sprintf("is %s, although the ends of its parents do not allow it", end.State))
	case allowed && skipped:
		t.report(RuleStep, name, fmt.Sprintf("skipped for %q, although the ends of its parents allow it", end.Reason))
	case !j.MayFail && end.State.Terminal() && end.State != job.Succeeded && end.State != job.Skipped && end.State != job.Lost:
		t.report(RuleMissed, name, fmt.Sprintf("ended %s (%s): %s", end.State, end.Reason, describe(vs)))
	}
}

// meets reports whether a parent that ended with the state s meets the condition, by the documentation.
func meets(w job.When, s job.State) bool {
	switch w {
	case job.WhenDone:
		return true
	case job.WhenFailure:
		return s == job.Failed || s == job.TimedOut || s == job.Lost
	}
	return s == job.Succeeded
}

// skippedSlot reports whether a job was skipped together with its slot: it has no parents, or one of them was skipped so.
func (t *timeline) skippedSlot(name, id string) bool {
	vs := t.runs[name+"/"+id]
	if len(vs) == 0 {
		return true
	}
	if last(vs).State != job.Skipped {
		return false
	}
	after := t.expected[name].Spec.After
	return len(after) == 0 || slices.ContainsFunc(after, func(a job.After) bool { return t.skippedSlot(a.Job, id) })
}
