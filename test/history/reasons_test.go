package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestReasons has a job with a slot every second. Either the fourth and the fifth slot do not run, or only the fifth.
func TestReasons(t *testing.T) {
	const (
		none, latest = "missed: nobody could dispatch at its time, and the job's policy is none", "missed: a later slot runs instead"
		hundred      = "overlap: 100 runs are queued already"
	)
	outage := func(p *tape) {
		p.history.Recovery = time.Second
		p.history.Faults = []Fault{{Kind: Outage, At: sec(3.5), Until: sec(5.9)}}
	}
	long := func(p *tape) { // the fourth run lasts until the sixth slot
		p.now = sec(4)
		r := p.execute(p.arm("charge", p.now, "q1"), false)
		p.now = sec(5.05)
		p.later = func() { p.end(r, 5.8) }
	}
	unapproved := func(p *tape, from, until float64) (expire func()) {
		p.now = sec(from)
		rule := &job.Approve{Within: job.Duration(sec(until).Sub(p.now))}
		r := p.save(job.Run{Job: "charge", ID: "a", Kind: job.KindManual, Slot: p.now, Due: p.now, State: job.Pending}.Ask(rule, p.now), nil)
		return func() {
			p.now = sec(until)
			expired, err := r.Expire(p.now)
			expired.Term = p.term
			p.save(expired, err)
		}
	}
	for _, c := range []struct {
		name   string
		spec   job.Spec
		before func(p *tape)
		run    bool // the fifth has a record, and only it is skipped
		reason string
		good   bool
	}{
		{name: "none, in an outage", spec: job.Spec{Missed: job.MissedNone}, before: outage, reason: none, good: true},
		{name: "none, though nothing was wrong", spec: job.Spec{Missed: job.MissedNone}, reason: none},
		{name: "none, long after an outage", spec: job.Spec{Missed: job.MissedNone}, reason: none, before: func(p *tape) {
			p.history.Recovery = time.Second
			p.history.Faults = []Fault{{Kind: Outage, At: sec(0.1), Until: sec(0.5)}}
		}},
		{name: "none, and the policy is another", spec: job.Spec{Missed: job.MissedAll}, before: outage, reason: none},
		{name: "none, before a new term", spec: job.Spec{Missed: job.MissedNone}, reason: none, good: true, before: func(p *tape) {
			p.now = sec(5.9)
			p.commit(map[string]any{"election/a": nil})
			p.lead("b")
		}},
		{name: "none, behind a run that began late", spec: job.Spec{Missed: job.MissedNone}, run: true, reason: none, good: true, before: func(p *tape) {
			r := p.arm("charge", sec(4), "q1")
			p.now = sec(5.1)
			p.end(p.execute(r, false), 5.8)
		}},
		{name: "none, behind a run that began in time", spec: job.Spec{Missed: job.MissedNone}, run: true, reason: none, before: long},
		{name: "latest, in an outage", before: outage, reason: latest, good: true},
		{name: "latest, though nothing was wrong", reason: latest},
		{name: "latest, behind a run that nobody approves", reason: latest, good: true, before: func(p *tape) {
			p.later = unapproved(p, 3.2, 6.1)
			p.now = sec(6)
		}},
		{name: "latest, after a run that nobody approved", reason: latest, before: func(p *tape) {
			unapproved(p, 3.2, 3.7)()
			p.now = sec(6)
		}},
		{name: "latest, and the policy is another", spec: job.Spec{Missed: job.MissedAll}, before: outage, reason: latest},
		{name: "latest, and no later one had come", before: func(p *tape) { outage(p); p.decided = sec(5.9) }, reason: latest},
		{name: "all, older than its window", spec: job.Spec{Missed: job.MissedAll, MissedWindow: job.Duration(900 * time.Millisecond)}, before: outage,
			reason: "missed: older than the window of 900ms", good: true},
		{name: "all, within its window", spec: job.Spec{Missed: job.MissedAll, MissedWindow: job.Duration(time.Minute)}, before: outage,
			reason: "missed: older than the window of 1m0s"},
		{name: "all, older than another window", spec: job.Spec{Missed: job.MissedAll, MissedWindow: job.Duration(time.Minute)}, before: outage,
			reason: "missed: older than the window of 1s"},
		{name: "all, without a window", spec: job.Spec{Missed: job.MissedAll}, before: outage, reason: "missed: older than the window of 0s"},
		{name: "all, beyond its limit", spec: job.Spec{Missed: job.MissedAll, MissedLimit: 1}, before: outage,
			reason: "missed: beyond the limit of 1", good: true},
		{name: "all, short of its limit", spec: job.Spec{Missed: job.MissedAll}, before: outage, reason: "missed: beyond the limit of 100"},

		{name: "paused", reason: "paused", good: true, before: func(p *tape) {
			p.history.Halts = []Halt{{From: sec(3.9), Until: sec(5.9)}}
		}},
		{name: "paused without a pause", reason: "paused"},
		{name: "paused, and it was another job", reason: "paused", before: func(p *tape) {
			p.history.Halts = []Halt{{Job: "other", From: sec(3.9), Until: sec(5.9)}}
		}},
		{name: "paused, and that was long over", reason: "paused", before: func(p *tape) {
			p.history.Halts = []Halt{{From: sec(1.1), Until: sec(1.2)}}
		}},
		{name: "paused, by a clock that was ahead", reason: "paused", good: true, before: func(p *tape) {
			p.history.Halts = []Halt{{From: sec(1.1), Until: sec(1.2)}}
			p.decided = sec(9.8)
		}},
		{name: "changed", reason: "the schedule was changed before this slot ran", good: true, before: func(p *tape) {
			spec := p.history.Jobs[0].Spec
			p.commit(map[string]any{"jobs/charge": job.Job{Name: "charge", Generation: 2, Since: began, Spec: &spec}})
		}},
		{name: "changed without an edit", reason: "the schedule was changed before this slot ran"},

		{name: "skip, while a run is active", run: true, before: long, reason: "overlap: run " + slotAt(4) + " is still active", good: true},
		{name: "skip, for itself", run: true, before: long, reason: "overlap: run " + slotAt(5) + " is still active"},
		{name: "allow, treated as skip", spec: job.Spec{Overlap: job.OverlapAllow}, run: true, before: long,
			reason: "overlap: run " + slotAt(4) + " is still active"},
		{name: "queue, treated as skip", spec: job.Spec{Overlap: job.OverlapQueue}, run: true, before: long,
			reason: "overlap: run " + slotAt(4) + " is still active"},
		{name: "queue, with too few of them", spec: job.Spec{Overlap: job.OverlapQueue}, run: true, before: long, reason: hundred},
		{name: "skip, treated as queue", run: true, before: long, reason: hundred},
		{name: "replace, and a later one had come", spec: job.Spec{Overlap: job.OverlapReplace}, run: true, before: func(p *tape) {
			long(p)
			p.decided = sec(6)
		}, reason: "overlap: a later slot replaces it", good: true},
		{name: "replace, and no later one had come", spec: job.Spec{Overlap: job.OverlapReplace}, run: true, before: long,
			reason: "overlap: a later slot replaces it"},
		{name: "skip, treated as replace", run: true, before: func(p *tape) { long(p); p.decided = sec(6) }, reason: "overlap: a later slot replaces it"},
		{name: "an unknown reason", run: true, before: long, reason: "x"},
		{name: "a range for an unknown reason", before: outage, reason: "x"},
		{name: "a range for overlap", before: outage, reason: "overlap: run " + slotAt(3) + " is still active"},
		{name: "no reason", run: true, before: long},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			c.spec.Every = job.Duration(time.Second)
			p.define("charge", c.spec)
			until := 3
			for i := 1; i <= until; i++ {
				p.now = sec(float64(i))
				p.succeed(p.execute(p.arm("charge", p.now, "q1"), true))
			}
			p.now = sec(6)
			if c.before != nil {
				c.before(p)
			}
			first := sec(4)
			if c.run {
				first = sec(5)
			}
			at := p.now
			if !p.decided.IsZero() {
				at = p.decided
			}
			cursor := job.Cursor{Job: "charge", After: sec(5), Next: sec(6), Term: p.term}
			if c.run {
				r := job.Run{Job: "charge", ID: slotAt(5), Kind: job.KindScheduled, State: job.Skipped, Term: p.term, Slot: sec(5), Due: sec(5),
					Reason: c.reason, Finished: at}
				p.commit(map[string]any{"runs/" + r.Name(): r, "cursors/charge": cursor})
			} else {
				e := job.Event{Kind: job.EventSkipped, Job: "charge", At: at, From: first, To: sec(5), Reason: c.reason}
				p.commit(map[string]any{"events/charge/x": e, "cursors/charge": cursor})
			}
			if p.later != nil {
				p.later()
			}
			p.now = sec(6.2)
			p.succeed(p.execute(p.arm("charge", sec(6), "q1"), true))
			found := Check(p.history)
			bad := slices.ContainsFunc(found, func(v Violation) bool { return v.What == "charge/"+slotAt(5) })
			if bad == c.good || c.good && len(found) > 0 {
				t.Errorf("got:\n%swant good: %t", lines(found), c.good)
			}
		})
	}
}

// end lets an executed run succeed. second is the time, in seconds.
func (p *tape) end(r job.Run, second float64) {
	p.now = sec(second)
	e := &p.history.Effects[len(p.history.Effects)-1]
	e.Ended, e.Well = p.now, true
	p.save(r.Finish(job.Outcome{State: job.Succeeded, At: p.now}))
}

// TestAQueueIsFull skips a slot behind the maximum number of waiting runs, and behind one run less.
func TestAQueueIsFull(t *testing.T) {
	if maxQueued != planner.MaxQueued {
		t.Fatalf("rota lets %d runs wait, and the judge takes it for %d", planner.MaxQueued, maxQueued)
	}
	for _, waiting := range []int{maxQueued, maxQueued - 1} {
		p := newTape(t)
		p.lead("a")
		p.define("charge", job.Spec{Every: job.Duration(time.Second), Overlap: job.OverlapQueue})
		p.now = sec(1)
		first := p.execute(p.arm("charge", p.now, "q1"), false)
		var waits []job.Run
		slot := func(i int, r job.Run) job.Run {
			p.now = sec(float64(i))
			r.Job, r.ID, r.Kind, r.Term, r.Slot, r.Due = "charge", slotAt(i), job.KindScheduled, p.term, p.now, p.now
			r.Rev = p.commit(map[string]any{"runs/" + r.Name(): r, "cursors/charge": job.Cursor{Job: "charge", After: p.now, Term: p.term}})
			return r
		}
		for i := range waiting {
			waits = append(waits, slot(2+i, job.Run{State: job.Pending}))
		}
		slot(2+waiting, job.Run{State: job.Skipped, Reason: "overlap: 100 runs are queued already", Finished: sec(float64(2 + waiting))})
		p.end(first, float64(2+waiting)+0.5)
		for _, r := range waits {
			p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q1", Session: "s"})), true))
			p.now = p.now.Add(time.Second)
		}
		if found := Check(p.history); len(found) != maxQueued-waiting {
			t.Errorf("%d runs waited:\n%s", waiting, lines(found))
		}
	}
}
