package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// effectsAt returns effects of a job "a". "3.1" is one at 3.1 s that takes no time, "3.1-4" one that ends at 4 s, and "3.1-"
// one without a recorded end. "@3" after it says that it states the slot at 3 s.
func effectsAt(t *testing.T, text string) (effects []Effect) {
	t.Helper()
	second := func(s string) time.Time {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return sec(f)
	}
	for word := range strings.FieldsSeq(text) {
		word, slot, told := strings.Cut(word, "@")
		from, to, lasts := strings.Cut(word, "-")
		e := Effect{Job: "a", Arrived: second(from)}
		switch {
		case !lasts:
			e.Ended = e.Arrived
		case to != "":
			e.Ended = second(to)
		}
		if told {
			e.Run = "a/" + job.SlotID(second(slot))
		}
		effects = append(effects, e)
	}
	return effects
}

// TestTargets judges jobs by their definitions and effects alone, without a store.
func TestTargets(t *testing.T) {
	const s = job.Duration(time.Second)
	fault := func(from, to float64) []Fault { return []Fault{{Kind: Pause, At: sec(from), Until: sec(to)}} }
	for _, c := range []struct {
		name    string
		spec    job.Spec // without a schedule: every second
		faults  []Fault  // slots may be late until one second after them
		halts   []Halt
		effects string
		bad     string // violated slots in seconds, with their rules
	}{
		{name: "each slot, up to the last that has had its time", effects: "1 2.1 3.2 4 5 6 7 8 9"},
		{name: "the last may be there, too", effects: "1 2.1 3.2 4 5 6 7 8 9 10"},
		{name: "one is missing", effects: "1 2 3 5 6 7 8 9", bad: "4 missed"},
		{name: "all are missing", spec: job.Spec{Every: 4 * s}, bad: "4 missed, 8 missed"},
		{name: "one too many", effects: "1 2 3 3.3 4 5 6 7 8 9", bad: "a extra"},
		{name: "one too late", effects: "1 2 3 4.3 4.6 6 7 8 9", bad: "5 missed, a extra"},
		{name: "one too late, by what it says", effects: "1@1 2@2 3@3 4@4 6.1@5 6.3@6 7@7 8@8 9@9", bad: "5 time"},
		{name: "one too early, by what it says", effects: "1@1 2@2 3@3 4@4 4.9@5 6@6 7@7 8@8 9@9", bad: "5 time"},
		{name: "two in each other's place", effects: "1@1 2@2 3@3 4@5 5@4 6@6 7@7 8@8 9@9", bad: "4 time, 5 time"},
		{name: "one of no slot, by what it says", effects: "1@1 2@2 3@3 3.5@3.5 4@4 5@5 6@6 7@7 8@8 9@9", bad: "3.5 extra"},
		{name: "one of no slot, but in time", effects: "1 2 3 4.4@4.4 5 6 7 8 9", bad: "4.4 extra, 4 missed"},
		{name: "tried again, by what it says", effects: "1 2 3@3 3.3@3 4 5 6 7 8 9"},
		{name: "something asked for", effects: "1 2 3 4 5 6 7 8 9"},
		{name: "jitter", spec: job.Spec{Every: 2 * s, Jitter: s}, effects: "2.9 4.1 7.2 8"},
		{name: "beyond the jitter", spec: job.Spec{Every: 2 * s, Jitter: s}, effects: "2.9 4.1 7.6 8", bad: "6 missed, a extra"},

		{name: "all: late in a fault", faults: fault(2.9, 5.2), spec: job.Spec{Missed: job.MissedAll},
			effects: "1 2 5.5 5.6 5.7 6 7 8 9"},
		{name: "all: one is missing in a fault", faults: fault(2.9, 5.2), spec: job.Spec{Missed: job.MissedAll},
			effects: "1 2 5.5@4 5.6@5 6@6 7 8 9", bad: "3 missed"},
		{name: "all: late after it has healed", faults: fault(2.9, 4.2), spec: job.Spec{Missed: job.MissedAll},
			effects: "1 2 3 4 5 7.1 7.2 8 9", bad: "6 missed, a extra"},
		{name: "all: beyond its limit", faults: fault(1.9, 6.2), spec: job.Spec{Missed: job.MissedAll, MissedLimit: 4},
			effects: "1 6.3 6.4 6.5 7 8 9"},
		{name: "all: short of its limit", faults: fault(1.9, 6.2), spec: job.Spec{Missed: job.MissedAll, MissedLimit: 4},
			effects: "1 6.4 6.5 7 8 9", bad: "7 missed"},
		{name: "all: beyond its window", faults: fault(1.9, 6.2), spec: job.Spec{Missed: job.MissedAll, MissedWindow: 3 * s},
			effects: "1 6.3 6.4 7 8 9"},
		{name: "latest: one for all in a fault", faults: fault(1.9, 6.2), effects: "1 6.3 7 8 9"},
		{name: "latest: not even one", faults: fault(1.9, 6.2), effects: "1 8 9", bad: "7 missed"},
		{name: "none: nothing in a fault", faults: fault(1.9, 6.2), spec: job.Spec{Missed: job.MissedNone}, effects: "1 8 9"},
		{name: "none: nothing though there is no fault", spec: job.Spec{Missed: job.MissedNone}, effects: "1 3 4 5 6 7 8 9", bad: "2 missed"},
		{name: "at most once: not at all in a fault", faults: fault(2.9, 4.2), spec: job.Spec{Missed: job.MissedAll, Delivery: job.AtMostOnce},
			effects: "1 2 7 8 9 6 5.4"},
		{name: "a fault that lasts to the end", faults: []Fault{{Kind: Outage, At: sec(2.9)}}, effects: "1 2"},
		{name: "a fault that delays nothing", faults: []Fault{{Kind: Pause, At: sec(2.9), Until: sec(4.2), Delays: -1}},
			effects: "1 2 4 5 6 7 8 9", bad: "3 missed"},
		{name: "a fault that delays for longer", faults: []Fault{{Kind: Kill, At: sec(2.9), Delays: 4 * time.Second}},
			effects: "1 2 6.9 7 8 9"},

		{name: "skip: while a run lasts", effects: "1 2.1-4.9 5 6 7 8 9"},
		{name: "skip: one that would have had room", effects: "1 2.1-3.9 5 6 7 8 9", bad: "4 missed"},
		{name: "skip: while it is tried again", effects: "1 2@2 2.9-3@2 3.4-4.9@2 5 6 7 8 9"},
		{name: "skip: while it is late", effects: "1 2 4.9@3 5 6 7 8 9", faults: []Fault{{Kind: Kill, At: sec(3), Delays: 2 * time.Second}}},
		{name: "queue: while a run lasts", spec: job.Spec{Overlap: job.OverlapQueue}, effects: "1 2.1-4.9 5 5.1 5.2 6 7 8 9"},
		{name: "queue: one is dropped", spec: job.Spec{Overlap: job.OverlapQueue}, effects: "1 2.1-4.9 5 5.2 6 7 8 9", bad: "5 missed"},
		{name: "allow: while a run lasts", spec: job.Spec{Overlap: job.OverlapAllow}, effects: "1 2.1-4.9 3 4 5 6 7 8 9"},
		{name: "allow: one is skipped", spec: job.Spec{Overlap: job.OverlapAllow}, effects: "1 2.1-4.9 4 5 6 7 8 9", bad: "3 missed"},
		{name: "a run that is never seen to end, for a fault", effects: "1 2.1- 6 7 8 9", faults: []Fault{{Kind: Kill, At: sec(2.3), Delays: 3 * time.Second}}},

		{name: "a run that is never seen to end, and another one begins", effects: "1 2.1- 4 6 7 8 9", bad: "5 missed"},

		{name: "paused", halts: []Halt{{From: sec(3.5), Until: sec(6.5)}}, effects: "1 2 3 7 8 9"},
		{name: "paused: a slot shortly before it is lost to it", halts: []Halt{{Job: "a", From: sec(3.1), Until: sec(6.5)}}, effects: "1 2 7 8 9"},
		{name: "paused: not a slot before that", halts: []Halt{{From: sec(3.5), Until: sec(6.5)}}, effects: "1 3 7 8 9", bad: "2 missed"},
		{name: "paused: nothing runs in it", halts: []Halt{{From: sec(3.5), Until: sec(6.5)}}, effects: "1 2 3 5@5 7 8 9", bad: "5 extra"},
		{name: "paused again by a clock that is behind: a slot between both may run", spec: job.Spec{Overlap: job.OverlapQueue},
			halts: []Halt{{From: sec(2.5), Until: sec(5.1)}, {From: sec(4.9), Until: sec(7.6)}}, effects: "1 2 7.7@5 8 9"},
		{name: "another job is paused", halts: []Halt{{Job: "b", From: sec(3.5), Until: sec(6.5)}}, effects: "1 2 3 7 8 9", bad: "4 missed, 5 missed, 6 missed"},
		{name: "paused to the end", halts: []Halt{{From: sec(3.5)}}, effects: "1 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.spec.Scheduled() {
				c.spec.Every = s
			}
			h := bare(effectsAt(t, c.effects))
			h.Jobs[0].Spec, h.Faults, h.Halts = c.spec.WithDefaults(), c.faults, c.halts
			v := Judge(h)
			slices.SortFunc(v.Violations, func(a, b Violation) int { return cmp.Compare(a.What+a.Rule, b.What+b.Rule) })
			var bad []string
			for _, f := range v.Violations {
				if strings.HasPrefix(f.Text, "executed at") && f.What == "a" || strings.HasPrefix(f.Text, "its target saw nothing") ||
					f.Rule == RuleTime || strings.HasSuffix(f.Text, "is no due slot of the job") {
					bad = append(bad, slotName(f.What)+" "+f.Rule)
				}
			}
			if d := diff.Diff(c.bad, strings.Join(bad, ", ")); d != "" {
				t.Errorf("violations (-want +got):\n%s\nall:\n%s%v", d, lines(v.Violations), v.Graded)
			}
		})
	}
}

// slotName returns a run's slot in seconds, or the job if it has none.
func slotName(run string) string {
	slot, told := slotOf(Effect{Run: run})
	if !told {
		return run
	}
	return fmt.Sprint(slot.Sub(began).Seconds())
}

// TestWithoutATolerance has a job without a Tolerance. The judge then believes the store's reasons, and windows never end.
func TestWithoutATolerance(t *testing.T) {
	h := good(t)
	h.Jobs[0].Spec.Missed, h.Faults = job.MissedNone, nil
	for i := range h.Effects {
		h.Effects[i].Arrived = h.Effects[i].Arrived.Add(time.Minute)
		h.Effects[i].Ended = h.Effects[i].Arrived
	}
	for _, v := range Check(h) {
		if v.Rule == RuleTime || v.Rule == RuleMissed || v.Rule == RuleExtra {
			t.Error(v)
		}
	}
}
