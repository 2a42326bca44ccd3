package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Grade is what became of one slot. Of those that hold, the highest counts: it says most.
type Grade int

// The grades. From Late on, something that was promised was not kept.
const (
	OK          Grade = iota // it ran, on time as far as that is judged
	Again                    // it was tried again, since an attempt failed or a fault cost it its worker
	LateQueued               // it waited for an earlier run of the job
	LateInFault              // it came late, in or shortly after a fault that can delay it
	Skipped                  // it did not run, for a reason that the job's policies know
	Given                    // it may be delivered once, and a fault cost it its worker: it is lost
	NotJudged                // it was not over when recording ended, or the history says that it is not owed
	Late                     // it came too late, or too early, and no fault explains it
	Unfinished               // its run has not ended
	Broken                   // a record of it was written by somebody who may not, or as nobody may
	Missed                   // it did not run, or has neither a run nor a reason
	Overlap                  // it ran at the same time as another run of the job, or was skipped for none
	Duplicate                // it has had two records
	Orphan                   // a target saw an execution that no worker had claimed
	Stale                    // a target saw it with a token below one that it had seen before
	Unknown                  // something ran that is no slot of the job, and that nobody asked for
	LostOutcome              // its target saw it end, and its record does not say so
	Double                   // it was executed twice, and no fault explains it
)

var gradeNames = []string{
	"ok", "again", "late behind a run", "late in a fault", "skipped", "given up", "not judged",
	"late", "unfinished", "broken record", "missed", "overlap", "duplicate record", "orphan effect", "stale token",
	"unknown run", "lost outcome", "double effect",
}

// Grades lists every Grade, the best first: those from Late on are bad.
func Grades() (all []Grade) {
	for g := range gradeNames {
		all = append(all, Grade(g))
	}
	return all
}

func (g Grade) String() string { return gradeNames[g] }

// Bad says whether a slot with that grade is a promise that was not kept.
func (g Grade) Bad() bool { return g >= Late }

// gradeOf is the grade of that which a violation of a rule is about.
var gradeOf = map[string]Grade{
	RuleRecreated: Duplicate, RuleTransition: Broken, RuleTerminal: Broken, RuleUnfinished: Unfinished, RuleCursor: Broken,
	RuleTerm: Broken, RuleToken: Broken, RuleOverlap: Overlap, RuleLimit: Overlap, RuleSlot: Missed, RuleMissed: Missed, RuleExtra: Orphan,
	RuleDouble: Double, RuleTime: Late, RuleOutcome: LostOutcome, RuleRetry: Double,
	RuleAnswer: Broken,
}

// SlotGrade is the grade of one slot.
type SlotGrade struct {
	Job, Run string
	Slot     time.Time // zero for something that is no slot
	Due      time.Time // by when it had to begin; zero if there was no such time
	Grade    Grade
	Reason   string // of Skipped and NotJudged
	Must     bool   // it had to run
}

// Tally counts grades.
type Tally map[Grade]int

// String lists what there was, the bad first, in one line.
func (c Tally) String() string {
	var parts []string
	for _, g := range slices.Backward(Grades()) {
		if n := c[g]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, g))
		}
	}
	if len(parts) == 0 {
		return "no slots"
	}
	return strings.Join(parts, ", ")
}

// Bad counts the promises that were not kept.
func (c Tally) Bad() (n int) {
	for g, count := range c {
		if g.Bad() {
			n += count
		}
	}
	return n
}

// fell is the grade of an effect whose token is not above that of an effect before it.
func fell(before, now Effect) Grade {
	if before.Run == now.Run && before.Token == now.Token {
		return Double
	}
	return Stale
}

// report notes that a promise was not kept, and grades what it is about.
func (t *timeline) report(rule, what, text string) { t.reportAs(gradeOf[rule], rule, what, text) }

// reportAs is report with another grade than that of the rule.
func (t *timeline) reportAs(g Grade, rule, what, text string) {
	t.found = append(t.found, Violation{rule, what, text})
	if strings.Contains(what, "/") {
		t.marks[what] = max(t.marks[what], g)
	}
}

// grades are those of all slots of a job, sorted, and of whatever else of it was found to be wrong.
func (t *timeline) grades(j Job, c judged) (list []SlotGrade) {
	seen := make(map[string][]Effect)
	for _, e := range c.effects {
		seen[e.Run] = append(seen[e.Run], e)
	}
	known := make(map[string]bool)
	for i, g := range c.targets {
		s := SlotGrade{Job: j.Name, Run: j.Name + "/" + job.SlotID(g.slot), Slot: g.slot, Due: g.To, Must: !g.Optional}
		known[s.Run] = true
		es := seen[s.Run]
		if p := c.match.Point[i]; p >= 0 && c.firsts[p].Run == "" {
			es = c.firsts[p : p+1]
		}
		t.grade(j, &s, es, &g)
		list = append(list, s)
	}
	for _, slot := range t.decided[j.Name] {
		if s := (SlotGrade{Job: j.Name, Run: j.Name + "/" + job.SlotID(slot), Slot: slot}); !known[s.Run] {
			known[s.Run] = true
			t.grade(j, &s, seen[s.Run], nil)
			list = append(list, s)
		}
	}
	for run, g := range t.marks {
		if strings.HasPrefix(run, j.Name+"/") && !known[run] {
			list = append(list, SlotGrade{Job: j.Name, Run: run, Grade: g})
		}
	}
	slices.SortFunc(list, func(a, b SlotGrade) int { return cmp.Or(a.Slot.Compare(b.Slot), strings.Compare(a.Run, b.Run)) })
	return list
}

// grade grades one slot by what was found before, its record, and its effects. g is nil if nobody judged when it ran.
func (t *timeline) grade(j Job, s *SlotGrade, effects []Effect, g *target) {
	if bad, marked := t.marks[s.Run]; marked {
		s.Grade = bad
		return
	}
	if vs := t.runs[s.Run]; len(vs) > 0 {
		switch r := last(vs); r.State {
		case job.Skipped, job.Canceled:
			s.Grade, s.Reason = Skipped, r.Reason
			return
		case job.Lost:
			s.Grade, s.Reason = Given, r.Reason
			return
		}
		if !j.Effects {
			return
		}
	} else if range_, ok := t.stated(j.Name, s.Slot); ok {
		s.Grade, s.Reason = Skipped, range_.reason
		return
	}
	switch {
	case len(effects) == 0 && g != nil && g.Optional:
		s.Grade, s.Reason = NotJudged, g.reason
		if g.reason == "overlap" || g.reason == "missed" || g.reason == "paused" {
			s.Grade = Skipped
		}
	case len(effects) > 1:
		s.Grade = Again
	case len(effects) == 1 && g != nil && j.Tolerance > 0 && effects[0].Arrived.After(g.due.Add(j.Tolerance)):
		if s.Grade = LateQueued; g.fault {
			s.Grade = LateInFault
		}
	}
}
