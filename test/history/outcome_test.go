package history

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOutcomes records the first attempt of a run in all ways in which its target may have seen it.
func TestOutcomes(t *testing.T) {
	canceled := &job.Cancel{At: sec(1.02), By: "alice"}
	for _, c := range []struct {
		name   string
		state  job.State // recorded state
		cancel *job.Cancel
		lasts  time.Duration // 0: no end was recorded
		well   bool
		fault  *Fault
		want   string // rule of the violation
	}{
		{name: "succeeded, and ended well", state: job.Succeeded, lasts: time.Second, well: true},
		{name: "succeeded, and ended otherwise", state: job.Succeeded, lasts: time.Second, want: RuleMissed},
		{name: "succeeded without a recorded end", state: job.Succeeded, want: RuleMissed},
		{name: "failed, and ended well", state: job.Failed, lasts: time.Second, well: true, want: RuleOutcome},
		{name: "failed, and ended otherwise", state: job.Failed, lasts: time.Second},
		{name: "failed without a recorded end", state: job.Failed},
		{name: "failed, and ended well on a worker that was cut off", state: job.Failed, lasts: time.Second, well: true,
			fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.5), Until: sec(3)}},
		{name: "failed, and ended well while another worker was cut off", state: job.Failed, lasts: time.Second, well: true,
			fault: &Fault{Kind: Outage, Node: "q2", At: sec(1.5), Until: sec(3)}, want: RuleOutcome},
		{name: "timed out, and ended well long before", state: job.TimedOut, lasts: time.Second, well: true, want: RuleOutcome},
		{name: "timed out, and ended well at that time", state: job.TimedOut, lasts: 10 * time.Second, well: true},
		{name: "lost, and ended well", state: job.Lost, lasts: time.Second, well: true, want: RuleOutcome},
		{name: "lost, and ended otherwise", state: job.Lost, lasts: time.Second, want: RuleOutcome},
		{name: "lost without a recorded end", state: job.Lost},
		{name: "lost with its worker, and ended well", state: job.Lost, lasts: time.Second, well: true,
			fault: &Fault{Kind: Kill, Node: "q1", At: sec(2.1)}},
		{name: "canceled, and ended well", state: job.Canceled, cancel: canceled, lasts: time.Second, well: true},
		{name: "canceled without a request, and ended well", state: job.Canceled, lasts: time.Second, well: true, want: RuleOutcome},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			p.define("charge", job.Spec{Every: job.Duration(time.Minute), Start: new(sec(1)), Timeout: job.Duration(10 * time.Second)})
			p.history.Jobs[0].MayFail = true
			p.now = sec(0)
			r := p.arm("charge", sec(0), "q1")
			p.now = sec(1)
			r = p.execute(r, false)
			if e := &p.history.Effects[0]; c.lasts > 0 {
				e.Ended, e.Well = e.Arrived.Add(c.lasts), c.well
			}
			if c.fault != nil {
				p.history.Faults = []Fault{*c.fault}
			}
			r.Cancel = c.cancel
			p.now = sec(1).Add(c.lasts)
			p.save(r.Finish(job.Outcome{State: c.state, At: p.now}))
			var got string
			for _, v := range Check(p.history) {
				if v.Rule == RuleOutcome || v.Rule == RuleMissed && v.What == r.Name() {
					got = v.Rule
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q:\n%s", got, c.want, lines(Check(p.history)))
			}
		})
	}
}
