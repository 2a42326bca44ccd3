package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkOverlap sees to it that no two runs of a job are running at the same revision, unless they may.
func (t *timeline) checkOverlap(j Job) {
	if j.Spec.Overlap == job.OverlapAllow {
		return
	}
	type step struct {
		rev     int64
		run     string
		running bool
	}
	var steps []step
	for run, vs := range t.runsOf(j.Name) {
		if strings.HasPrefix(run, j.Name+"/") {
			for _, v := range vs {
				steps = append(steps, step{v.Rev, run, v.run.State == job.Running})
			}
		}
	}
	// Of what one transaction does, ends come first.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.rev, b.rev), compareBool(a.running, b.running)) })
	running := ""
	for _, s := range steps {
		switch {
		case !s.running && s.run == running:
			running = ""
		case s.running && running != "" && s.run != running:
			t.report(RuleOverlap, s.run, fmt.Sprintf("began at %d while %s was running", s.rev, running))
		case s.running:
			running = s.run
		}
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// checkTogether sees to it that no two attempts of a run were executed at a time, nor two runs of a job that forbids it, by
// what their targets saw of them, from beginning to end or to the last sign of life. It looks away where nobody saw either of
// the first.
func (t *timeline) checkTogether() {
	byJob := make(map[string][]Effect)
	for _, e := range t.Effects {
		if name, _, told := strings.Cut(e.Run, "/"); told {
			byJob[name] = append(byJob[name], e)
		}
	}
	for name, es := range byJob {
		alone := t.runsAlone(name)
		slices.SortStableFunc(es, func(a, b Effect) int { return cmp.Or(a.Arrived.Compare(b.Arrived), cmp.Compare(a.Token, b.Token)) })
		var lasting []Effect // of those before e
		for _, e := range es {
			lasting = slices.DeleteFunc(lasting, func(o Effect) bool { return !o.until().After(e.Arrived) })
			for _, o := range lasting {
				if (alone || o.Run == e.Run) && o.Token != e.Token && !t.mayMeet(o, e) { // one that comes twice is for checkTwice
					t.report(RuleOverlap, e.Run, fmt.Sprintf("attempt %d was executed from %s on, while attempt %d of %s was until %s",
						e.Attempt, stamp(e.Arrived), o.Attempt, o.Run, stamp(o.until())))
				}
			}
			lasting = append(lasting, e)
		}
	}
}

// runsAlone says whether no two runs of a job may be executed at a time, whichever of its definitions is in force.
func (t *timeline) runsAlone(name string) bool {
	j, known := t.expected[name]
	if !known || j.Spec.Overlap == job.OverlapAllow {
		return false
	}
	return !j.Edited || !slices.ContainsFunc(t.definitions[name], func(d definition) bool { return d.job.Spec.Overlap == job.OverlapAllow })
}

// mayMeet says whether there is a reason for two executions to overlap, of which the second began last: that the one with the
// older token may linger.
func (t *timeline) mayMeet(first, second Effect) bool {
	older := first
	if second.Token < first.Token {
		older = second
	}
	return t.mayLinger(older, second.Arrived)
}

// mayLinger says whether an execution may have gone on for as long as it did, though what may not run beside it began at an
// instant: a fault cost it its worker, which was about to end it. A request that its worker gave up, as when it was canceled, may
// go on at its target for as long as that likes.
func (t *timeline) mayLinger(older Effect, began time.Time) bool {
	vs := t.runs[older.Run]
	i := slices.IndexFunc(vs, func(v runVersion) bool { return v.run.State == job.Running && v.run.Token == older.Token })
	if i < 0 {
		return true // it was never claimed, which is told
	}
	r := last(vs)
	spec, worker := t.expected[r.Job].Spec, vs[i].run.Worker
	if end, ended := attemptOf(r, older.Token); ended && spec.HTTP != nil && (end.State == job.Canceled || end.State == job.TimedOut) {
		return true
	}
	return slices.ContainsFunc(t.Faults, func(f Fault) bool {
		if f.At.After(began.Add(t.Slack)) || !t.cost(f, worker, older) {
			return false
		}
		over := t.overBy(f, worker, began, spec.KillGrace.Std())
		return spec.HTTP != nil || over.IsZero() || !older.until().After(over)
	})
}

// overBy is when an execution has ended at the latest that a fault cost its worker, where what may not run beside it began at an
// instant; zero: nobody can tell. See docs/explanation/guarantees.md.
//
// Who is cut off, or stops, ends what it executes before its session can be over for others: they may begin beside what heeds no
// SIGTERM, for its kill grace. What a killed process leaves is killed at once. Who was paused, or was not told that others have
// its runs, ends them when it is.
func (t *timeline) overBy(f Fault, worker string, began time.Time, grace time.Duration) time.Time {
	switch f.Kind {
	case Kill:
		return f.At.Add(t.Slack)
	case Outage, Drain:
		return began.Add(grace + t.Slack/settles)
	case Evict:
		f.Until = f.At.Add(t.Recovery)
	}
	for again := !f.Until.IsZero(); again; { // what else kept it from being told
		again = false
		for _, o := range t.Faults {
			if o.Kind.Lasts() && (o.Node == "" || o.Node == worker) && !o.At.After(f.Until) && (o.Until.IsZero() || o.Until.After(f.Until)) {
				f.Until, again = o.Until, !o.Until.IsZero()
			}
			if f.Until.IsZero() {
				return time.Time{}
			}
		}
	}
	if f.Until.IsZero() {
		return time.Time{}
	}
	return f.Until.Add(grace + t.Slack)
}
