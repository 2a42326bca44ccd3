package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTogether has one execution after another in the records, and lets the first last longer than those say.
func TestTogether(t *testing.T) {
	post := &job.HTTP{URL: "http://target"}
	skip, allow := job.OverlapSkip, job.OverlapAllow
	for _, c := range []struct {
		name  string
		again bool // the second is another attempt of the same run
		spec  job.Spec
		state job.State // of the first
		lasts time.Duration
		fault *Fault
		want  int
	}{
		{name: "one run after the other", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 900 * time.Millisecond},
		{name: "two runs at a time", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second, want: 1},
		{name: "two runs at a time, queued", spec: job.Spec{Overlap: job.OverlapQueue}, state: job.Succeeded, lasts: 5 * time.Second, want: 1},
		{name: "two runs that may", spec: job.Spec{Overlap: allow}, state: job.Succeeded, lasts: 5 * time.Second},
		{name: "two runs, since the first one's worker was paused", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second,
			fault: &Fault{Kind: Pause, Node: "q1", At: sec(1.5), Until: sec(4)}},
		{name: "two runs, though it was the second one's", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second,
			fault: &Fault{Kind: Pause, Node: "q2", At: sec(1.5), Until: sec(4)}, want: 1},
		{name: "a run that was replaced goes on", spec: job.Spec{Overlap: job.OverlapReplace}, state: job.Canceled, lasts: 5 * time.Second, want: 1},
		{name: "a request that was replaced goes on", spec: job.Spec{Overlap: job.OverlapReplace, HTTP: post}, state: job.Canceled, lasts: 5 * time.Second},
		{name: "a request that failed goes on", spec: job.Spec{Overlap: skip, HTTP: post}, state: job.Failed, lasts: 5 * time.Second, want: 1},
		{name: "one attempt after the other", again: true, spec: job.Spec{Overlap: allow}, state: job.Failed, lasts: 900 * time.Millisecond},
		{name: "two attempts at a time", again: true, spec: job.Spec{Overlap: allow}, state: job.Failed, lasts: 5 * time.Second, want: 1},
		{name: "two attempts, since the first one's worker was killed", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Kill, Node: "q1", At: sec(1.5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			c.spec.Every, c.spec.Retry = job.Duration(time.Second), &job.Retry{Max: 1}
			p.define("charge", c.spec)
			p.history.Jobs[0].MayFail = true
			if c.fault != nil {
				p.history.Faults = []Fault{*c.fault}
			}
			p.now = sec(1)
			r := p.execute(p.arm("charge", p.now, "q1"), false)
			e := &p.history.Effects[0]
			e.Ended = e.Arrived.Add(c.lasts)
			p.now = sec(2)
			o := job.Outcome{State: c.state, At: p.now}
			if c.again {
				r = p.save(r.Again(o, p.now, "tried again"))
				r = p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"}))
			} else {
				if c.state == job.Canceled {
					r.Cancel = &job.Cancel{At: p.now, By: "rota", Reason: "overlap: replaced by slot " + job.SlotID(p.now)}
				}
				p.save(r.Finish(o))
				r = p.arm("charge", p.now, "q2")
			}
			p.now = sec(2.1)
			p.succeed(p.execute(r, true))
			found := slices.DeleteFunc(Check(p.history), func(v Violation) bool { return v.Rule != RuleOverlap })
			if len(found) != c.want {
				t.Errorf("got:\n%swant %d violations of %s", lines(found), c.want, RuleOverlap)
			}
		})
	}
}
