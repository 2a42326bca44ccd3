package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestMissingDecisionsAreFound has a job with a slot every second for a minute. Only the first three slots are decided.
func TestMissingDecisionsAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		bend func(p *tape)
		want bool // whether the judge must report the other slots
	}{
		{"for no reason", func(*tape) {}, true},
		{"and the job was edited", func(p *tape) { p.history.Jobs[0].Edited = true }, true},
		{"after it was edited", func(p *tape) {
			p.history.Jobs[0].Edited = true
			spec := p.history.Jobs[0].Spec
			p.commit(map[string]any{"jobs/charge": job.Job{Name: "charge", Generation: 2, Since: sec(3.5), Spec: &spec}})
		}, true},
		{"since it was removed", func(p *tape) { p.commit(map[string]any{"jobs/charge": nil}) }, false},
		{"since it was removed, and was edited before", func(p *tape) {
			p.history.Jobs[0].Edited = true
			p.commit(map[string]any{"jobs/charge": nil})
		}, false},
		{"since it is paused", func(p *tape) { p.history.Halts = []Halt{{From: sec(3.5)}} }, false},
		{"long before it was paused", func(p *tape) { p.history.Halts = []Halt{{From: sec(20)}} }, true},
		{"since it was paused for a while", func(p *tape) { p.history.Halts = []Halt{{From: sec(3.5), Until: sec(5)}} }, true},
		{"in an outage", func(p *tape) { p.history.Faults = []Fault{{Kind: Outage, At: sec(3.5)}} }, false},
		{"long after an outage", func(p *tape) { p.history.Faults = []Fault{{Kind: Outage, At: sec(3.5), Until: sec(5)}} }, true},
		{"and recording ended soon after", func(p *tape) { p.history.Over = sec(20) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			p.define("charge", job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll})
			for i := 1; i <= 3; i++ {
				p.now = sec(float64(i))
				p.succeed(p.execute(p.arm("charge", p.now, "q1"), true))
			}
			p.history.Over = sec(60)
			c.bend(p)
			missed := slices.ContainsFunc(Check(p.history), func(v Violation) bool { return v.Rule == RuleSlot })
			if missed != c.want {
				t.Errorf("got:\n%swant violations of %s: %t", lines(Check(p.history)), RuleSlot, c.want)
			}
		})
	}
}

// TestACursorPutBackByHandIsNoViolation writes the first version of a cursor again by hand. The writes of rota before and after
// it are judged.
func TestACursorPutBackByHandIsNoViolation(t *testing.T) {
	const key = "/rota/cursors/charge"
	put := func(t *testing.T, h *History) {
		first, v := version(t, h, "cursors/charge", 0), version(t, h, "runs/charge/"+slotAt(4), 0)
		rev := h.Versions[min(v, version(t, h, "cursors/charge", 3))].Rev - 1 // revision of the end of the third run, at which two writes may happen
		h.Versions = slices.Insert(h.Versions, min(v, version(t, h, "cursors/charge", 3)),
			Version{Key: key, Value: h.Versions[first].Value, Rev: rev, Create: h.Versions[first].Create, Seen: sec(3.9)})
	}
	for _, c := range []struct {
		name string
		bend func(t *testing.T, h *History)
		want string // rule of the violation
	}{
		{"a hand did it", func(_ *testing.T, h *History) { h.PutBack = map[string]bool{key: true} }, ""},
		{"rota did it", func(*testing.T, *History) {}, RuleCursor},
		{"a slot was left out before", func(t *testing.T, h *History) {
			h.PutBack = map[string]bool{key: true}
			rev := h.Versions[version(t, h, "runs/charge/"+slotAt(2), 0)].Rev
			h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool {
				return v.Key == "/rota/runs/charge/"+slotAt(2) || v.Key == key && v.Rev == rev
			})
		}, RuleSlot},
		{"a run failed", func(t *testing.T, h *History) {
			h.PutBack = map[string]bool{key: true}
			edit(t, h, "runs/charge/"+slotAt(3), 2, func(r *job.Run) { r.State, r.Attempts[0].State = job.Failed, job.Failed })
		}, RuleMissed},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good(t)
			put(t, &h)
			c.bend(t, &h)
			found := Check(h)
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.want }) {
				t.Errorf("got:\n%swant %q", lines(found), c.want)
			}
		})
	}
}

// TestARunOverwrittenByHandIsNoViolation writes garbage over a running run by hand. The writes of rota before and after it are
// judged.
func TestARunOverwrittenByHandIsNoViolation(t *testing.T) {
	const rev = 1 << 40 // a revision without another write
	key := "runs/charge/" + slotAt(3)
	for _, c := range []struct {
		name string
		bend func(t *testing.T, h *History)
		want string // rule
	}{
		{"a hand did it", func(_ *testing.T, h *History) { h.Hand = map[int64]bool{rev: true} }, ""},
		{"rota did it", func(*testing.T, *History) {}, RuleTransition},
		{"and the outcome never came", func(t *testing.T, h *History) {
			h.Hand = map[int64]bool{rev: true}
			i := version(t, h, key, 2)
			h.Versions = slices.Delete(h.Versions, i, i+1)
		}, RuleUnfinished},
		{"and it was given up for it", func(t *testing.T, h *History) {
			h.Hand = map[int64]bool{rev: true}
			edit(t, h, key, 2, func(r *job.Run) { r.State, r.Attempts[0].State = job.Lost, job.Lost })
		}, RuleOutcome},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good(t)
			before := h.Versions[version(t, &h, key, 1)]
			c.bend(t, &h)
			h.Versions = slices.Insert(h.Versions, version(t, &h, key, 1)+1, Version{Key: before.Key, Value: []byte("garbage"), Rev: rev, Create: before.Create, Seen: before.Seen})
			found := Check(h)
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.want }) {
				t.Errorf("got:\n%swant %q", lines(found), c.want)
			}
		})
	}
}
