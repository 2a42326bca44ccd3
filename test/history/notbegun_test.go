package history

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestARunThatHadNotStartedIsRepeated stops a worker that has claimed a run with at_most_once.
func TestARunThatHadNotStartedIsRepeated(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		seen   bool // whether its target saw the attempt
		want   []string
	}{
		{"before it began", job.WorkerStopped + " " + job.NotBegun, false, nil},
		{"at work, it says", job.WorkerStopped, false, []string{RuleDouble}},
		{"before it began, but its target saw it", job.WorkerStopped + " " + job.NotBegun, true, []string{RuleDouble, RuleOutcome}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			p.define("charge", job.Spec{Every: job.Duration(time.Second), Delivery: job.AtMostOnce})
			p.now = began.Add(time.Second)
			r := p.arm("charge", p.now, "q1")
			if c.seen {
				r = p.execute(r, false)
			} else {
				r = p.save(r.Claim(r.Rev, p.now))
			}
			p.now = p.now.Add(100 * time.Millisecond)
			r = p.save(r.Requeue(job.Outcome{State: job.Lost, At: p.now, Reason: c.reason}, p.now, "tried again"))
			p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"})), true))
			p.history.Faults = []Fault{{Kind: Drain, Node: "q1", At: began, Until: p.now}}
			rules := make(map[string]bool)
			for _, v := range Check(p.history) {
				rules[v.Rule] = true
			}
			for _, rule := range c.want {
				if !rules[rule] {
					t.Errorf("no violation of %s", rule)
				}
				delete(rules, rule)
			}
			if len(rules) > 0 {
				t.Errorf("got:\n%s", lines(Check(p.history)))
			}
		})
	}
}
