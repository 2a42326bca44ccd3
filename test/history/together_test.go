package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTogether has two executions. By the records, the second starts after the end of the first. In fact the first lasts
// longer.
func TestTogether(t *testing.T) {
	post := &job.HTTP{URL: "http://target"}
	skip, allow := job.OverlapSkip, job.OverlapAllow
	for _, c := range []struct {
		name   string
		again  bool // whether the second is another attempt of the same run
		spec   job.Spec
		state  job.State // state of the first
		killed bool      // whether it has a last sign of life and no recorded end
		lasts  time.Duration
		fault  *Fault
		other  *Fault
		want   int
	}{
		{name: "one run after the other", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 900 * time.Millisecond},
		{name: "two runs at a time", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second, want: 1},
		{name: "two runs at a time, queued", spec: job.Spec{Overlap: job.OverlapQueue}, state: job.Succeeded, lasts: 5 * time.Second, want: 1},
		{name: "two runs that may", spec: job.Spec{Overlap: allow}, state: job.Succeeded, lasts: 5 * time.Second},
		{name: "two runs, since the first one's worker was paused", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second,
			fault: &Fault{Kind: Pause, Node: "q1", At: sec(1.5), Until: sec(4)}},
		{name: "two runs, though it was the second one's", spec: job.Spec{Overlap: skip}, state: job.Succeeded, lasts: 5 * time.Second,
			fault: &Fault{Kind: Pause, Node: "q2", At: sec(1.5), Until: sec(4)}, want: 1},
		{name: "a run that was replaced continues", spec: job.Spec{Overlap: job.OverlapReplace}, state: job.Canceled, lasts: 5 * time.Second, want: 1},
		{name: "a request that was replaced continues", spec: job.Spec{Overlap: job.OverlapReplace, HTTP: post}, state: job.Canceled, lasts: 5 * time.Second},
		{name: "a request that failed continues", spec: job.Spec{Overlap: skip, HTTP: post}, state: job.Failed, lasts: 5 * time.Second, want: 1},
		{name: "one attempt after the other", again: true, spec: job.Spec{Overlap: allow}, state: job.Failed, lasts: 900 * time.Millisecond},
		{name: "two attempts at a time", again: true, spec: job.Spec{Overlap: allow}, state: job.Failed, lasts: 5 * time.Second, want: 1},
		{name: "two attempts, a moment after the first one's worker was killed", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 1500 * time.Millisecond, fault: &Fault{Kind: Kill, Node: "q1", At: sec(1.5)}},
		{name: "what a killed worker left lives on", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Kill, Node: "q1", At: sec(1.5)}, want: 1},
		{name: "a worker that is cut off takes the kill grace", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 2 * time.Second, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}},
		{name: "a worker that is cut off does not end its command", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}, want: 1},
		{name: "a worker that is cut off does not kill its command", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost, killed: true,
			lasts: 5 * time.Second, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}, want: 1},
		{name: "a worker that is cut off kills its command", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost, killed: true,
			lasts: 900 * time.Millisecond, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}},
		{name: "another run, while a partitioned worker continues", spec: job.Spec{Overlap: skip}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}, want: 1},
		{name: "a request that a worker that is cut off has given up", again: true, spec: job.Spec{Overlap: allow, HTTP: post}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Outage, Node: "q1", At: sec(1.1), Until: sec(60)}},
		{name: "its worker is cut off only later", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Pause, Node: "q1", At: sec(4.5), Until: sec(60)}, want: 1},
		{name: "a worker that stops takes the kill grace", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 2 * time.Second, fault: &Fault{Kind: Drain, Node: "q1", At: sec(1.1), Until: sec(2)}},
		{name: "a worker that stops leaves its command alone", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Drain, Node: "q1", At: sec(1.1), Until: sec(2)}, want: 1},
		{name: "a worker that was paused continues, and ends it", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Pause, Node: "q1", At: sec(1.5), Until: sec(4)}},
		{name: "a worker that was paused continues, and does not end it", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 8 * time.Second, fault: &Fault{Kind: Pause, Node: "q1", At: sec(1.5), Until: sec(4)}, want: 1},
		{name: "a worker is still paused", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: time.Hour, fault: &Fault{Kind: Pause, Node: "q1", At: sec(1.5)}},
		{name: "a worker whose presence was removed hears of it", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: 5 * time.Second, fault: &Fault{Kind: Evict, Node: "q1", At: sec(1.5)}},
		{name: "a worker whose presence was removed continues", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: time.Minute, fault: &Fault{Kind: Evict, Node: "q1", At: sec(1.5)}, want: 1},
		{name: "a worker whose presence was removed does not learn it", again: true, spec: job.Spec{Overlap: allow}, state: job.Lost,
			lasts: time.Minute, fault: &Fault{Kind: Evict, Node: "q1", At: sec(1.5)}, other: &Fault{Kind: Deaf, Node: "q1", At: sec(2), Until: sec(59)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			c.spec.Every, c.spec.Retry, c.spec.KillGrace = job.Duration(time.Second), &job.Retry{Max: 1}, job.Duration(time.Second)
			p.define("charge", c.spec)
			p.history.Jobs[0].MayFail = true
			for _, f := range []*Fault{c.fault, c.other} {
				if f != nil {
					p.history.Faults = append(p.history.Faults, *f)
				}
			}
			p.now = sec(1)
			r := p.execute(p.arm("charge", p.now, "q1"), false)
			e := &p.history.Effects[0]
			if e.Ended = e.Arrived.Add(c.lasts); c.killed {
				e.Ended, e.Alive = time.Time{}, e.Ended
			}
			p.now = sec(2)
			o := job.Outcome{State: c.state, At: p.now}
			if c.again {
				r = p.save(r.Requeue(o, p.now, "tried again"))
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
