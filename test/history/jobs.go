package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// claims lists the versions of a job's runs that began an attempt, in the order of revisions.
func (t *timeline) claims(name string) (claims []runVersion) {
	for run, vs := range t.runsOf(name) {
		if !strings.HasPrefix(run, name+"/") {
			continue
		}
		for i, v := range vs {
			if v.begins(vs[:i]) {
				claims = append(claims, v)
			}
		}
	}
	slices.SortFunc(claims, func(a, b runVersion) int { return cmp.Compare(a.Rev, b.Rev) })
	return claims
}

// checkTokens checks that no token was given twice in a job, and that tokens rise along each run. They also rise along the job,
// unless its runs may overlap: a later run may then start first. Copies of one run overlap, so they rise for each worker.
func (t *timeline) checkTokens(j Job) {
	given := make(map[int64]string)
	highest := make(map[string]int64) // by run, and by job or worker
	for _, v := range t.claims(j.Name) {
		name, token := v.run.Name(), v.run.Token
		if other, twice := given[token]; twice {
			t.report(RuleToken, name, fmt.Sprintf("claimed%s with token %d, which %s had before", at(v.Version), token, other))
		}
		given[token] = name
		scopes := []string{name}
		if j.Spec.Overlap != job.OverlapAllow && v.run.Kind != job.KindBackfill { // those overlap with others
			scopes = append(scopes, laneOf(&v.run))
		}
		for _, scope := range scopes {
			if token < highest[scope] {
				t.report(RuleToken, name, fmt.Sprintf("claimed%s with token %d after token %d", at(v.Version), token, highest[scope]))
			}
			highest[scope] = max(highest[scope], token)
		}
	}
}

// checkSlots checks that rota decided every slot, and no time that is not a slot.
func (t *timeline) checkSlots(j Job) {
	if j.Edited {
		t.checkEdited(j)
		return
	}
	if j.Spec.Step() {
		t.checkSteps(j)
		return
	}
	cursors, since := t.cursors[j.Name], t.since[j.Name]
	if since.IsZero() {
		if len(cursors) > 0 {
			t.report(RuleSlot, j.Name, "has decided slots but no definition")
		}
		return
	}
	end := job.Later(since, job.Later(t.decidedUntil(j.Name), t.owedUntil(j.Name)))
	if until, over := t.scheduleOver(&j.Spec); over && len(cursors) > 0 {
		end = until // the whole range had to be decided
	}
	slots, err := t.slotsAround(j, since, end)
	if err != nil {
		t.report(RuleSlot, j.Name, err.Error())
		return
	}
	for name, vs := range t.runsOf(j.Name) {
		if r := vs[0].run; r.Job == j.Name && r.Kind == job.KindScheduled && !isSlot(slots, r) {
			t.reportAs(Unknown, RuleSlot, name, "is no slot of the job")
		}
	}
	for _, slot := range slots {
		if slot.After(since) && !slot.After(end) {
			t.checkSlot(j, slot)
		}
	}
}

// slotsAround lists, sorted, the slots of a job in the range that covers from, to, and the slots of all its runs.
func (t *timeline) slotsAround(j Job, from, to time.Time) ([]time.Time, error) {
	for _, vs := range t.runsOf(j.Name) {
		if r := vs[0].run; r.Job == j.Name && r.Kind == job.KindScheduled {
			if r.Slot.Before(from) {
				from = r.Slot
			}
			to = job.Later(to, r.Slot)
		}
	}
	return slotsOf(j, from.Add(-1), to)
}

// isSlot reports whether the run belongs to a slot and has its name.
func isSlot(slots []time.Time, r job.Run) bool {
	_, found := slices.BinarySearchFunc(slots, r.Slot, time.Time.Compare)
	return found && r.ID == job.SlotID(r.Slot)
}

// checkSlot judges the result of one slot.
func (t *timeline) checkSlot(j Job, slot time.Time) {
	t.slots++
	t.decided[j.Name] = append(t.decided[j.Name], slot)
	name := j.Name + "/" + job.SlotID(slot)
	vs := t.runs[name]
	if len(vs) == 0 {
		if t.ByHand[t.Prefix+"/runs/"+name] {
			return
		}
		switch s, stated := t.stated(j.Name, slot); {
		case !stated:
			t.report(RuleSlot, name, "has neither a run nor a reason")
		case s.bad != "":
			t.report(RuleMissed, name, fmt.Sprintf("skipped for %q, but %s", s.reason, s.bad))
		}
		return
	}
	switch r := last(vs); {
	case r.State == job.Skipped:
		t.checkSkipped(j, name, vs)
	case r.State == job.Lost && !t.excused(vs):
		t.report(RuleMissed, name, fmt.Sprintf("lost its worker (%s) without a fault: %s", r.Reason, describe(vs)))
	case r.State == job.Lost && j.Spec.Delivery == job.AtMostOnce: // at most once
	case r.State != job.Succeeded && r.State.Terminal() && (!j.MayFail || r.State == job.Canceled && r.Cancel == nil):
		t.report(RuleMissed, name, fmt.Sprintf("ended %s (%s): %s", r.State, r.Reason, describe(vs)))
	}
}

// hidden reports whether the end of a run came to the store after rev because of a fault at its worker. The lease of that worker
// has then lasted longer than it should, or the run would be lost.
func (t *timeline) hidden(vs []runVersion, rev int64) bool {
	o := last(vs)
	return vs[len(vs)-1].Rev > rev && t.costs(o.Worker, Effect{Arrived: o.Started, Ended: o.Finished})
}

// checkSkipped checks the evidence for the reason of a skipped slot. If the reason is an earlier run, that run must not have
// ended before the slot.
func (t *timeline) checkSkipped(j Job, name string, skipped []runVersion) {
	end := skipped[len(skipped)-1]
	r := end.run
	p := plea{job: t.as(j, end.Rev), from: r.Slot, to: r.Slot, run: name, reason: r.Reason, at: r.Finished, rev: end.Rev, seen: end.Seen}
	if why := t.refute(p); why != "" {
		t.report(RuleOverlap, name, fmt.Sprintf("skipped for %q, but %s", r.Reason, why))
		return
	}
	rest, ok := strings.CutPrefix(r.Reason, "overlap: run ")
	if !ok {
		return
	}
	id, _, _ := strings.Cut(rest, " ")
	vs := t.runs[r.Job+"/"+id]
	if len(vs) == 0 || vs[0].Rev > end.Rev || id == r.ID {
		t.report(RuleOverlap, name, "skipped for run "+id+", which never existed")
		return
	}
	o := last(vs)
	if o.State.Terminal() && o.Finished.Add(t.Skew).Before(r.Due) && !beganAgain(vs, skipped) && !t.hidden(vs, end.Rev) {
		t.report(RuleOverlap, name, fmt.Sprintf("skipped for run %s, which had ended at %s", id, o.Finished.Format(time.RFC3339Nano)))
		return
	}
	decided := r.Due
	if !end.Seen.IsZero() { // if the leader's clock is ahead, the decision may be before the slot
		decided = earlier(decided, end.Seen)
	}
	if over, seen := t.seenToSucceed(o); seen && over.Add(t.Slack+t.Skew).Before(decided) && !t.troubles().touch(over, decided) {
		t.report(RuleOverlap, name, fmt.Sprintf("skipped for run %s, which had succeeded at its target at %s", id, over.Format(time.RFC3339Nano)))
	}
}

// seenToSucceed returns when the target saw the end of the last execution of a successful run. seen is false if the target has
// not seen a success.
func (t *timeline) seenToSucceed(r job.Run) (end time.Time, seen bool) {
	for _, e := range t.effects[r.Name()] {
		if e.Ended.IsZero() {
			return time.Time{}, false
		}
		end, seen = job.Later(end, e.Ended), seen || e.Well
	}
	return end, seen && r.State == job.Succeeded
}

// beganAgain reports whether a run began an attempt after the write that skipped a slot because of this run. If so, the run was
// active at the slot. Its recorded end proves nothing: it is by the worker's clock, and the slot is by the leader's. A late
// outcome proves nothing either: the leader must not skip a slot because of an outcome that it does not know yet.
func beganAgain(vs, skipped []runVersion) bool {
	s := slices.IndexFunc(skipped, func(v runVersion) bool { return v.run.State == job.Skipped })
	for i, v := range vs {
		if v.Rev > skipped[s].Rev && v.begins(vs[:i]) {
			return true
		}
	}
	return false
}
