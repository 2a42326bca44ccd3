package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestHolders has runs of two jobs with a limit that one run may hold. They hold it one after the other or together.
func TestHolders(t *testing.T) {
	type pair struct {
		*tape
		a, b job.Run // as created
	}
	give := func(p pair, r job.Run, limits ...string) job.Run {
		r, err := r.Assign(&job.Worker{Name: "q1", Session: "s"})
		r.Limits = limits
		return p.save(r, err)
	}
	one := func(p pair, r job.Run, second float64) {
		p.now = sec(second)
		p.end(p.execute(give(p, r, "few"), false), second+0.5)
	}
	set := func(p pair, most int) {
		p.commit(map[string]any{"limits/few": job.Limit{Name: "few", Spec: job.LimitSpec{Concurrent: most}}})
	}
	both := func(p pair) {
		p.now = sec(1)
		a := p.execute(give(p, p.a, "few"), false)
		b := p.execute(give(p, p.b, "few"), false)
		p.now = sec(1.5)
		for i := range p.history.Effects {
			p.history.Effects[i].Ended, p.history.Effects[i].Well = p.now, true
		}
		p.succeed(a)
		p.succeed(b)
	}
	for _, c := range []struct {
		name string
		do   func(p pair)
		want string // rule of the violation
	}{
		{"one after the other", func(p pair) { one(p, p.a, 1); one(p, p.b, 2) }, ""},
		{"both at a time", both, RuleLimit},
		{"both at a time, as may be by now", func(p pair) { set(p, 2); both(p) }, ""},
		{"both at a time, as was allowed a moment ago", func(p pair) { p.now = sec(0.5); set(p, 2); set(p, 1); both(p) }, ""},
		{"both at a time, as was allowed long ago", func(p pair) { set(p, 2); set(p, 1); p.history.Slack = time.Millisecond; both(p) }, RuleLimit},
		{"without it", func(p pair) {
			p.now = sec(1)
			p.end(p.execute(give(p, p.a), false), 1.5)
			one(p, p.b, 2)
		}, RuleLimit},
		{"under a limit that is gone", func(p pair) {
			p.commit(map[string]any{"limits/few": nil})
			p.history.Slack = time.Millisecond
			one(p, p.a, 1)
			one(p, p.b, 2)
		}, RuleLimit},
		{"both at a time, as their target saw it", func(p pair) {
			one(p, p.a, 1)
			one(p, p.b, 2)
			p.history.Effects[0].Ended = sec(2.2)
		}, RuleLimit},
		{"the first continues, because its worker was paused", func(p pair) {
			one(p, p.a, 1)
			one(p, p.b, 2)
			p.history.Effects[0].Ended = sec(2.2)
			p.history.Faults = []Fault{{Kind: Pause, Node: "q1", At: sec(1.2), Until: sec(2.1)}}
		}, ""},
		{"both with one token", func(p pair) {
			one(p, p.a, 1)
			one(p, p.b, 2)
			token := p.history.Effects[0].Token
			for n := 2; n < 4; n++ {
				edit(t, &p.history, "runs/"+p.b.Name(), n, func(r *job.Run) { r.Token = token })
			}
		}, RuleToken},
		{"the second with a lower token", func(p pair) {
			one(p, p.a, 1)
			one(p, p.b, 2)
			edit(t, &p.history, "runs/"+p.b.Name(), 2, func(r *job.Run) { r.Token = 1 })
		}, RuleToken},
		{"both in one transaction", func(p pair) {
			set(p, 2)
			both(p)
			vs := p.history.Versions
			a, b := version(t, &p.history, "runs/"+p.a.Name(), 1), version(t, &p.history, "runs/"+p.b.Name(), 1)
			vs[a].Rev = vs[b].Rev
		}, RuleToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pair{tape: newTape(t)}
			p.lead("a")
			p.now = sec(-60)
			set(p, 1)
			p.now = sec(0)
			born := func(name string) job.Run {
				p.define(name, job.Spec{Limits: []string{"few"}})
				r := job.Run{Job: name, ID: "x", Kind: job.KindManual, Slot: p.now, Due: p.now, State: job.Pending, Term: p.term}
				return p.save(r, nil)
			}
			p.a, p.b = born("a"), born("b")
			c.do(p)
			found := slices.DeleteFunc(Check(p.history), func(v Violation) bool { return v.Rule != RuleLimit && v.Rule != RuleToken })
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.want }) {
				t.Errorf("got:\n%swant %q", lines(found), c.want)
			}
		})
	}
}
