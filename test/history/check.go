package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// Check returns every violation of the history, sorted; nil if there is none.
func Check(h History) []Violation { return Judge(h).Violations }

// Verdict is the result of Judge: the violations, the grades, and the numbers of the checked things.
type Verdict struct {
	Violations []Violation // sorted; nil if there is none
	Slots      int         // slots that were due and had to be decided
	Runs       int
	Attempts   int         // attempts that were claimed
	Doubles    int         // repeated effects whose earlier attempt lost its worker in a fault
	Graded     []SlotGrade // sorted by job and slot
	Grades     Tally       // of Graded
}

// String returns the numbers of a verdict and its violations in one line.
func (v Verdict) String() string {
	why := make(map[string]int)
	for _, g := range v.Graded {
		if g.Grade == Skipped {
			class, _, _ := strings.Cut(g.Reason, ":")
			why[class]++
		}
	}
	var skipped []string
	for _, class := range slices.Sorted(maps.Keys(why)) {
		skipped = append(skipped, fmt.Sprintf("%d %s", why[class], class))
	}
	text := fmt.Sprintf("%s; slots: %v", plural(len(v.Violations), "violation"), v.Grades)
	if len(skipped) > 0 {
		text += " (skipped: " + strings.Join(skipped, ", ") + ")"
	}
	return fmt.Sprintf("%s; %s, %s, %d executed again because of a fault", text, plural(v.Runs, "run"), plural(v.Attempts, "attempt"), v.Doubles)
}

// Judge returns the violations of the history, with the numbers of the checked things and the grades.
func Judge(h History) Verdict {
	t := newTimeline(h)
	for name, vs := range t.runs {
		t.checkRun(name, vs)
	}
	for name, vs := range t.cursors {
		t.checkCursor(name, vs)
	}
	for _, j := range h.Jobs {
		t.checkTokens(j)
		t.checkOverlap(j)
		t.checkReasons(j)
		t.checkSlots(j)
	}
	t.checkHolders()
	t.checkEffects()
	t.checkCalls()
	judged := make(map[string]judged)
	for _, j := range h.Jobs {
		judged[j.Name] = t.checkTargets(j)
	}
	slices.SortFunc(t.found, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.What, b.What), strings.Compare(a.Text, b.Text))
	})
	v := Verdict{Violations: t.found, Slots: t.slots, Runs: len(t.runs), Doubles: t.doubles, Grades: make(Tally)}
	for _, name := range slices.Sorted(maps.Keys(t.expected)) {
		v.Graded = append(v.Graded, t.grades(t.expected[name], judged[name])...)
	}
	for _, g := range v.Graded {
		v.Grades[g.Grade]++
	}
	for _, vs := range t.runs {
		for i := range vs {
			if vs[i].begins(vs[:i]) {
				v.Attempts++
			}
		}
	}
	return v
}

// checkRun follows one run from its creation to its end.
func (t *timeline) checkRun(name string, vs []runVersion) {
	born := vs[0]
	if born.Create != born.Rev {
		t.report(RuleRecreated, name, "its first known version is not its first"+at(born.Version))
	}
	if !job.State("").CanBecome(born.run.State) {
		t.report(RuleTransition, name, "created as "+string(born.run.State)+at(born.Version))
	}
	if born.run.Kind == job.KindScheduled {
		t.checkBirth(name, born)
	}
	for i, v := range vs {
		var prev *runVersion
		if i > 0 {
			prev = &vs[i-1]
			t.checkMove(name, *prev, v)
		}
		t.checkCancel(name, prev, v)
		if byLeader(prev, v) {
			t.checkTerm(name, v.Version, v.run.Term)
		}
	}
	t.checkRetries(name, last(vs))
	t.checkApproval(name, vs)
	t.checkCopies(name, vs)
	if s := last(vs).State; !s.Terminal() {
		t.report(RuleUnfinished, name, fmt.Sprintf("is %s at the end: %s", s, describe(vs)))
	}
}

// checkRetries counts the attempts of a run that ended by themselves without success.
func (t *timeline) checkRetries(name string, r job.Run) {
	j, known := t.expected[r.Job]
	if !known || j.Edited || r.Spec != nil {
		return
	}
	granted := policy.AskedRetries // for outcomes that ask for a retry
	if j.Spec.Retry != nil {
		granted = j.Spec.Retry.Max
	}
	failed := 0
	for _, a := range r.Attempts {
		if a.State == job.Failed || a.State == job.TimedOut {
			failed++
		}
	}
	if failed > granted+1 {
		t.report(RuleRetry, name, fmt.Sprintf("failed %d times, but may be retried %s", failed, plural(granted, "time")))
	}
}

// checkMove judges the step from one version of a run to the next.
func (t *timeline) checkMove(name string, prev, v runVersion) {
	from, to := prev.run, v.run
	switch {
	case from.State.Terminal():
		t.report(RuleTerminal, name, fmt.Sprintf("%s%s became %s%s", from.State, at(prev.Version), to.State, at(v.Version)))
	case from.State != to.State && !mayStep(from.State, to.State),
		from.State == job.Pending && from.Copies == nil && (to.State == job.Succeeded || to.State == job.Failed):
		t.report(RuleTransition, name, fmt.Sprintf("%s became %s%s", from.State, to.State, at(v.Version)))
	}
	switch {
	case to.State == job.Running && from.State == job.Armed && to.Token != prev.Rev:
		t.report(RuleToken, name, fmt.Sprintf("claimed with token %d%s, but was armed%s", to.Token, at(v.Version), at(prev.Version)))
	case to.State == job.Running && from.State == job.Running && to.Token != from.Token:
		t.report(RuleToken, name, fmt.Sprintf("token %d became %d%s while it ran", from.Token, to.Token, at(v.Version)))
	case from.State == job.Running && to.State != job.Running:
		if n := len(to.Attempts); n == 0 || to.Attempts[n-1].Token != from.Token {
			t.report(RuleToken, name, fmt.Sprintf("the outcome%s does not belong to token %d", at(v.Version), from.Token))
		}
	}
	if t.expected[to.Job].Spec.Delivery == job.AtMostOnce && lostAtWork(&to) && !to.State.Terminal() {
		t.report(RuleDouble, name, fmt.Sprintf("has at_most_once, but continues%s after its worker was lost", at(v.Version)))
	}
}

// mayStep reports whether one write may move a run from one state to another. A leader may give a run of a lost worker to the
// next worker at once.
func mayStep(from, to job.State) bool {
	return from.CanBecome(to) || from == job.Running && to == job.Armed && from.CanBecome(job.Pending) && job.Pending.CanBecome(to)
}

func (t *timeline) checkTerm(what string, v Version, term int64) {
	if reigning := t.reigning(v.Rev); term != reigning {
		t.report(RuleTerm, what, fmt.Sprintf("written%s under term %d, while term %d was in force", at(v), term, reigning))
	}
}

// checkBirth checks that a slot's run was created together with the move of the cursor past the slot.
func (t *timeline) checkBirth(name string, born runVersion) {
	r := born.run
	if t.ByHand[t.Prefix+"/cursors/"+r.Job] {
		return
	}
	cursors := t.cursors[r.Job]
	for i, c := range cursors {
		// The slots of a step may end in another order, so its cursor may have decided later ones before.
		overtaken := len(r.After) > 0 && c.cursor.Passed(r.Slot) && (i == 0 || !cursors[i-1].cursor.Passed(r.Slot))
		if c.Rev == born.Rev && (overtaken || c.cursor.After.Equal(r.Slot)) {
			return
		}
	}
	t.report(RuleCursor, name, "created"+at(born.Version)+" without a move of the cursor past it")
}

// checkCursor checks that a cursor moves only forward, and only with a run or a reason.
func (t *timeline) checkCursor(name string, vs []cursorVersion) {
	for i, v := range vs {
		if v.byHand {
			continue
		}
		t.checkTerm("cursor "+name, v.Version, v.cursor.Term)
		if i > 0 && v.cursor.After.Before(vs[i-1].cursor.After) && !t.startsAgain(name, vs[i-1].Version, v.Version) {
			t.report(RuleCursor, name, fmt.Sprintf("went back from %s to %s%s",
				job.SlotID(vs[i-1].cursor.After), job.SlotID(v.cursor.After), at(v.Version)))
		}
		run, known := t.runs[name+"/"+job.SlotID(v.cursor.After)]
		known = known && run[0].Rev <= v.Rev || t.ByHand[t.Prefix+"/runs/"+name+"/"+job.SlotID(v.cursor.After)]
		reason := slices.ContainsFunc(t.skips[name], func(s skip) bool { return s.rev == v.Rev })
		from := t.since[name] // a step may begin with a slot that overtakes others; its cursor then stays where its definition began
		if i > 0 {
			from = vs[i-1].cursor.After
		}
		moved := v.cursor.After.After(from)
		if moved && !known && !reason {
			t.report(RuleCursor, name, fmt.Sprintf("moved to %s%s without a run or a reason", job.SlotID(v.cursor.After), at(v.Version)))
		}
	}
}

// startsAgain reports whether a cursor is that of another job than the version before it: the job was deleted and created again.
// The leader's clock may have been ahead before.
func (t *timeline) startsAgain(name string, before, now Version) bool {
	return now.Create > before.Rev && slices.ContainsFunc(t.definitions[name], func(d definition) bool {
		return d.rev > before.Rev && d.rev <= now.Rev && d.job.Generation == 1
	})
}

// checkReasons checks the evidence for the reasons of skipped slots, and that slots are skipped together with the move of the
// cursor past them.
func (t *timeline) checkReasons(j Job) {
	for i, s := range t.skips[j.Name] {
		t.skips[j.Name][i].bad = t.refute(plea{job: t.as(j, s.rev), from: s.from, to: s.to, reason: s.reason, at: s.at, rev: s.rev, seen: s.seen})
		moved := slices.ContainsFunc(t.cursors[j.Name], func(c cursorVersion) bool { return c.Rev == s.rev && !c.cursor.After.Before(s.to) })
		if !moved && !t.ByHand[t.Prefix+"/cursors/"+j.Name] {
			t.report(RuleCursor, j.Name, fmt.Sprintf("slots up to %s skipped at %d without a move of the cursor past them", job.SlotID(s.to), s.rev))
		}
	}
}

// at returns when a version was written, as text.
func at(v Version) string {
	if v.Seen.IsZero() {
		return fmt.Sprintf(" at %d", v.Rev)
	}
	return fmt.Sprintf(" at %d (%s)", v.Rev, v.Seen.UTC().Format(clock))
}

// describe returns a run's life in one line.
func describe(vs []runVersion) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteString(" → ")
		}
		fmt.Fprintf(&b, "%s#%d", v.run.State, v.Rev)
		if v.run.Worker != "" {
			fmt.Fprintf(&b, "[%s attempt %d token %d]", v.run.Worker, v.run.Attempt, v.run.Token)
		}
		if v.run.Reason != "" {
			fmt.Fprintf(&b, "(%s)", v.run.Reason)
		}
	}
	return b.String()
}
