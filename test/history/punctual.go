package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// judged is a job whose effects were compared with its slots.
type judged struct {
	targets []target
	effects []Effect // all effects in their order
	firsts  []Effect // the first effect of each run that belongs to a slot, or should
	match   Matching // matches targets with firsts
}

// checkTargets compares the slots of a job with its effects. targets computes the due slots and their windows. Only the effects
// show the executions. An effect that states its slot counts only for that slot.
func (t *timeline) checkTargets(j Job) judged {
	effects, firsts := t.effectsOf(j.Name)
	c := judged{effects: effects, firsts: firsts}
	if !j.Effects || j.Edited {
		return c
	}
	targets, err := t.targets(j, effects)
	if err != nil {
		return c // checkSlots has reported it
	}
	c.targets = targets
	c.match = c.fill()
	windows := c.windows()
	extra := make(map[string]Effect)
	for _, p := range c.match.Extra() {
		e := firsts[p]
		extra[e.Run] = e
		if e.Run == "" {
			t.reportAs(Unknown, RuleExtra, j.Name, fmt.Sprintf("executed at %s, but no slot is left for it", stamp(e.Arrived)))
		}
	}
	for i := range targets {
		g := &targets[i]
		name := j.Name + "/" + job.SlotID(g.slot)
		if e, told := extra[name]; told {
			delete(extra, name)
			t.report(RuleTime, name, fmt.Sprintf("began at %s, but its window was from %s to %s", stamp(e.Arrived), stamp(g.From), stamp(g.To)))
		} else if c.match.Point[i] < 0 && !windows[i].Optional {
			t.report(RuleMissed, name, fmt.Sprintf("its target saw nothing from %s to %s", stamp(g.From), stamp(g.To)))
		}
	}
	for run, e := range extra {
		if run != "" && !t.ByHand[t.Prefix+"/runs/"+run] && !t.askedFor(run) {
			t.reportAs(Unknown, RuleExtra, run, fmt.Sprintf("executed at %s, but is no due slot of the job", stamp(e.Arrived)))
		}
	}
	return c
}

// effectsOf lists the effects of a job in their order, and the first effect of each run without a client's request. If an
// effect does not state its run, it counts as a separate run.
func (t *timeline) effectsOf(name string) (all, firsts []Effect) {
	all = slices.Clone(t.effectsOn[name])
	slices.SortStableFunc(all, func(a, b Effect) int { return cmp.Or(a.Arrived.Compare(b.Arrived), cmp.Compare(a.Token, b.Token)) })
	seen := make(map[string]bool)
	for _, e := range all {
		_, scheduled := slotOf(e)
		if e.Run == "" || scheduled && !seen[e.Run] {
			firsts = append(firsts, e)
		}
		seen[e.Run] = true
	}
	return all, firsts
}

// askedFor reports whether a run exists because a client requested it, or because its parents ended.
func (t *timeline) askedFor(run string) bool {
	vs := t.runs[run]
	return len(vs) > 0 && (vs[0].run.Kind != job.KindScheduled || len(vs[0].run.After) > 0)
}

func (c *judged) windows() []Window {
	windows := make([]Window, len(c.targets))
	for i, g := range c.targets {
		windows[i] = g.Window
	}
	return windows
}

// fill assigns effects that state their slot to that slot, and all others where they fit.
func (c *judged) fill() Matching {
	m := Matching{Point: unfilled(len(c.targets)), Window: unfilled(len(c.firsts))}
	bySlot := make(map[int64]int)
	for i, g := range c.targets {
		bySlot[g.slot.UnixNano()] = i
	}
	var others []int
	for p, e := range c.firsts {
		slot, told := slotOf(e)
		if i, known := bySlot[slot.UnixNano()]; told && known && c.targets[i].holds(e.Arrived) {
			m.Point[i], m.Window[p] = p, i
		} else if !told {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return m
	}
	var open []int
	var windows []Window
	for i, g := range c.targets {
		if m.Point[i] < 0 {
			open, windows = append(open, i), append(windows, g.Window)
		}
	}
	points := make([]time.Time, len(others))
	for k, p := range others {
		points[k] = c.firsts[p].Arrived
	}
	for k, w := range Match(windows, points).Window {
		if w >= 0 {
			m.Point[open[w]], m.Window[others[k]] = others[k], open[w]
		}
	}
	return m
}

// stamp returns a time of day; "the end" for the zero time.
func stamp(at time.Time) string {
	if at.IsZero() {
		return "the end"
	}
	return at.UTC().Format(clock)
}
