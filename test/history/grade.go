package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Grade is the result of one slot. If several apply, the highest counts, because it says most.
type Grade int

// The grades. From Late on, each is a violation of a promise.
const (
	OK          Grade = iota // it ran, and on time if its time is judged
	Again                    // it was retried: an attempt failed, or its worker was lost in a fault
	LateQueued               // it waited for an earlier run of the job
	LateInFault              // it was late during a fault that can delay it, or shortly after the fault
	Skipped                  // it did not run, for a reason of the job's policies
	Given                    // it is lost: its delivery is at_most_once, and its worker was lost in a fault
	NotJudged                // its window had not ended when recording ended, or the history excludes it
	Late                     // it was too late or too early, and no fault explains that
	Unfinished               // its run has not ended
	Broken                   // one of its records is invalid, or its writer had no right to write it
	Missed                   // it did not run, or has neither a run nor a reason
	Overlap                  // it ran together with another run of the job, or it was skipped although no other run was active
	Duplicate                // it had two records
	Orphan                   // a target saw an execution without a claim
	Stale                    // a target saw it with a token that is lower than an earlier one
	Unknown                  // a run without a slot and without a request
	LostOutcome              // its target saw its end, but its record does not contain that end
	Double                   // it was executed twice without a fault
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

// String returns the name of the grade.
func (g Grade) String() string { return gradeNames[g] }

// Bad reports whether the grade is a violation of a promise.
func (g Grade) Bad() bool { return g >= Late }

// gradeOf maps the rule of a violation to the grade of its slot.
var gradeOf = map[string]Grade{
	RuleRecreated: Duplicate, RuleTransition: Broken, RuleTerminal: Broken, RuleUnfinished: Unfinished, RuleCursor: Broken,
	RuleTerm: Broken, RuleToken: Broken, RuleOverlap: Overlap, RuleLimit: Overlap, RuleSlot: Missed, RuleMissed: Missed, RuleExtra: Orphan,
	RuleDouble: Double, RuleTime: Late, RuleOutcome: LostOutcome, RuleRetry: Double,
	RuleStep: Broken, RuleApproval: Broken, RuleCopy: Broken, RuleAnswer: Broken,
}

// SlotGrade is the grade of one slot.
type SlotGrade struct {
	Job, Run string
	Slot     time.Time // zero if there is no slot
	Due      time.Time // the end of its window; zero: it has none
	Grade    Grade
	Reason   string // of Skipped and NotJudged
	Must     bool   // the slot had to run
}

// Tally counts grades.
type Tally map[Grade]int

// String lists the grades that occurred in one line, the bad ones first.
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

// Bad counts the violations.
func (c Tally) Bad() (n int) {
	for g, count := range c {
		if g.Bad() {
			n += count
		}
	}
	return n
}

// fell returns the grade of an effect whose token is not above that of an earlier effect.
func fell(before, now Effect) Grade {
	if before.Run == now.Run && before.Token == now.Token {
		return Double
	}
	return Stale
}

// report records a violation and grades its slot.
func (t *timeline) report(rule, what, text string) { t.reportAs(gradeOf[rule], rule, what, text) }

// reportAs does the same as report, with another grade than the rule's.
func (t *timeline) reportAs(g Grade, rule, what, text string) {
	t.found = append(t.found, Violation{rule, what, text})
	if strings.Contains(what, "/") {
		t.marks[what] = max(t.marks[what], g)
	}
}

// grades returns one grade for each slot of a job and one for each violation without a slot, sorted.
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

// grade grades one slot by the earlier findings, its record and its effects. g is nil if the time of its effects is not judged.
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
