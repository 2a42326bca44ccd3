package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestEachGrade has a history for each grade, in which one slot gets it.
func TestEachGrade(t *testing.T) {
	run := func(i int) string { return "charge/" + slotAt(i) }
	strict := func(h *History) {
		for i := range h.Jobs {
			h.Jobs[i].Tolerance, h.Jobs[i].From = 300*time.Millisecond, began
		}
		h.Recovery, h.Over = 1500*time.Millisecond, sec(11)
	}
	tested := make(map[Grade]bool)
	for _, c := range []struct {
		grade Grade
		run   string
		bend  func(t *testing.T, h *History)
	}{
		{OK, run(3), func(*testing.T, *History) {}},
		{Again, run(5), func(*testing.T, *History) {}},
		{LateQueued, "a/" + slotAt(3), func(t *testing.T, h *History) {
			*h = bare(effectsAt(t, "1 2.1-4.9 5 5.1 5.2 6 7 8 9"))
			h.Jobs[0].Spec.Overlap = job.OverlapQueue
		}},
		{LateInFault, run(6), func(t *testing.T, h *History) {
			i := effect(t, h, run(6))
			h.Effects[i].Arrived, h.Effects[i].Ended = sec(6.8), sec(6.9)
		}},
		{Skipped, run(9), func(*testing.T, *History) {}},
		{Given, run(5), func(t *testing.T, h *History) {
			h.Jobs[0].Spec.Delivery = job.AtMostOnce
			h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return e.Run == run(5) && e.Attempt == 2 })
			edit(t, h, "runs/"+run(5), 2, func(r *job.Run) { r.State, r.Finished = job.Lost, sec(6) })
			for range 2 { // the assignment and the claim of the second attempt
				i := version(t, h, "runs/"+run(5), 3)
				h.Versions = slices.Delete(h.Versions, i, i+1)
			}
		}},
		{NotJudged, "a/" + slotAt(10), func(t *testing.T, h *History) { *h = bare(effectsAt(t, "1 2 3 4 5 6 7 8 9")) }},
		{Late, run(3), func(t *testing.T, h *History) {
			strict(h)
			i := effect(t, h, run(3))
			h.Effects[i].Arrived, h.Effects[i].Ended = sec(3.5), sec(3.6)
		}},
		{Unfinished, run(3), func(t *testing.T, h *History) {
			h.Effects[effect(t, h, run(3))].Ended = time.Time{}
			i := version(t, h, "runs/"+run(3), 2)
			h.Versions = slices.Delete(h.Versions, i, i+1)
		}},
		{Broken, run(7), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(7), 0, func(r *job.Run) { r.Term = 1 })
		}},
		{Overlap, run(9), func(t *testing.T, h *History) {
			edit(t, h, "runs/"+run(8), 2, func(r *job.Run) { r.Finished = sec(8.5) })
		}},
		{Duplicate, run(3), func(t *testing.T, h *History) {
			v := h.Versions[version(t, h, "runs/"+run(3), 0)]
			more(h, Version{Key: v.Key, Deleted: true})
			for n := range 3 {
				v := h.Versions[version(t, h, "runs/"+run(3), n)]
				v.Create = h.Versions[version(t, h, "runs/"+run(3), 3)].Rev + 1
				more(h, v)
			}
			// Each record of the run has one end. The test has deleted the first record.
			for i := range h.Versions {
				h.Versions[i].Seen = time.Time{}
			}
		}},
		{Orphan, run(3), func(t *testing.T, h *History) { h.Effects[effect(t, h, run(3))].Token++ }},
		{Stale, run(5), func(t *testing.T, h *History) { h.Effects[effect(t, h, run(5))].Arrived = sec(7) }},
		{Unknown, "charge/" + job.SlotID(sec(3.5)), func(t *testing.T, h *History) {
			for n := range 3 {
				edit(t, h, "runs/"+run(3), n, func(r *job.Run) { r.Slot, r.ID = sec(3.5), job.SlotID(sec(3.5)) })
			}
			for i := range h.Versions {
				if h.Versions[i].Key == "/rota/runs/"+run(3) {
					h.Versions[i].Key = "/rota/runs/charge/" + job.SlotID(sec(3.5))
				}
			}
		}},
		{LostOutcome, run(3), func(t *testing.T, h *History) {
			i := version(t, h, "runs/"+run(3), 2)
			h.Versions = slices.Delete(h.Versions, i, i+1)
		}},
		{Double, run(3), func(t *testing.T, h *History) {
			e := h.Effects[effect(t, h, run(3))]
			e.Arrived, e.Ended = e.Arrived.Add(20*time.Millisecond), e.Ended.Add(20*time.Millisecond)
			h.Effects = append(h.Effects, e)
		}},
		{Missed, run(3), func(t *testing.T, h *History) {
			i := effect(t, h, run(3))
			h.Effects = slices.Delete(h.Effects, i, i+1)
		}},
	} {
		t.Run(c.grade.String(), func(t *testing.T) {
			tested[c.grade] = true
			h := good(t)
			strict(&h)
			c.bend(t, &h)
			v := Judge(h)
			i := slices.IndexFunc(v.Graded, func(g SlotGrade) bool { return g.Run == c.run })
			if i < 0 {
				t.Fatalf("%s has no grade:\n%s", c.run, lines(v.Violations))
			}
			if got := v.Graded[i].Grade; got != c.grade {
				t.Errorf("%s: got %v, want %v:\n%s", c.run, got, c.grade, lines(v.Violations))
			}
			if v.Grades[c.grade] == 0 {
				t.Errorf("it is not counted: %v", v.Grades)
			}
			if c.grade.Bad() == (len(v.Violations) == 0) {
				t.Errorf("%d violations:\n%s", len(v.Violations), lines(v.Violations))
			}
			if !strings.Contains(v.String(), c.grade.String()) {
				t.Errorf("the verdict does not contain it: %v", v)
			}
		})
	}
	for _, g := range Grades() {
		if !tested[g] {
			t.Errorf("%v: has no history", g)
		}
	}
}

// bare returns a history without a store, of a job that runs every second for ten seconds.
func bare(effects []Effect) History {
	spec := job.Spec{Every: job.Duration(time.Second)}.WithDefaults()
	return History{
		Jobs:    []Job{{Name: "a", Spec: spec, Effects: true, Tolerance: 500 * time.Millisecond, From: began}},
		Effects: effects, Over: sec(10.2), Recovery: time.Second, Slack: 200 * time.Millisecond,
	}
}

func TestEachRuleHasAGrade(t *testing.T) {
	for _, rule := range []string{
		RuleRecreated, RuleTransition, RuleTerminal, RuleUnfinished, RuleCursor, RuleTerm, RuleToken, RuleOverlap, RuleLimit, RuleSlot, RuleMissed,
		RuleExtra, RuleDouble, RuleTime, RuleOutcome, RuleRetry, RuleAnswer,
	} {
		if !gradeOf[rule].Bad() {
			t.Errorf("%s: grade %v", rule, gradeOf[rule])
		}
	}
}
