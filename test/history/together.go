package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkOverlap checks that no two runs of a job are running at the same revision, unless the job allows it. The copies of one run
// may run together.
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
				if v.run.Kind == job.KindBackfill { // they run beside others
					continue
				}
				steps = append(steps, step{v.Rev, run, v.run.State == job.Running})
			}
		}
	}
	// Within one transaction, ends come first.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.rev, b.rev), compareBool(a.running, b.running)) })
	running := make(map[string]bool) // more than one only for copies of one run
	for _, s := range steps {
		if !s.running {
			delete(running, s.run)
			continue
		}
		for other := range running {
			if t.unit(other) != t.unit(s.run) {
				t.report(RuleOverlap, s.run, fmt.Sprintf("began at %d while %s was running", s.rev, other))
				delete(running, other)
			}
		}
		running[s.run] = true
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

// checkTogether checks, by effects, that two attempts of one run never execute at the same time. It checks the same for the
// runs of a job that forbids overlap, except backfilled ones. An effect lasts from its start to its end or its last sign of life. Effects without
// either are skipped.
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
		var lasting []Effect // earlier effects that have not ended when e starts
		for _, e := range es {
			lasting = slices.DeleteFunc(lasting, func(o Effect) bool { return !o.until().After(e.Arrived) })
			for _, o := range lasting {
				together := o.Run == e.Run || alone && t.unit(o.Run) != t.unit(e.Run) && !t.backfilled(o.Run) && !t.backfilled(e.Run)
				if together && o.Token != e.Token && !t.mayMeet(o, e) { // checkTwice judges equal tokens
					t.report(RuleOverlap, e.Run, fmt.Sprintf("attempt %d was executed from %s on, while attempt %d of %s was until %s",
						e.Attempt, stamp(e.Arrived), o.Attempt, o.Run, stamp(o.until())))
				}
			}
			lasting = append(lasting, e)
		}
	}
}

// runsAlone reports whether no two runs of a job may execute at a time under any of its definitions.
func (t *timeline) runsAlone(name string) bool {
	j, known := t.expected[name]
	if !known || j.Spec.Overlap == job.OverlapAllow {
		return false
	}
	return !j.Edited || !slices.ContainsFunc(t.definitions[name], func(d definition) bool { return d.job.Spec.Overlap == job.OverlapAllow })
}

// mayMeet reports whether two executions may overlap because the one with the lower token may have continued: see mayLinger.
// second started after first.
func (t *timeline) mayMeet(first, second Effect) bool {
	older := first
	if second.Token < first.Token {
		older = second
	}
	return t.mayLinger(older, second.Arrived)
}

// mayLinger reports whether an older execution may have continued after the start, at began, of an execution that excludes it.
// It may if its worker was lost in a fault before the worker could end it. A request that its worker gave up, for example
// after a cancel, may continue at its target without limit.
func (t *timeline) mayLinger(older Effect, began time.Time) bool {
	vs := t.runs[older.Run]
	i := slices.IndexFunc(vs, func(v runVersion) bool { return v.run.State == job.Running && v.run.Token == older.Token })
	if i < 0 {
		return true // it was never claimed; another check reports that
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

// overBy returns the latest end of an execution that lost its worker in the fault f. began is the start of a later execution
// that excludes it. overBy returns zero if the end is unknown. See docs/explanation/guarantees.md.
//
// A worker that is partitioned or stops ends its executions before others can consider its session expired. A command that
// ignores SIGTERM continues for its kill grace, and others may start beside it. The processes of a killed worker are killed at
// once. A worker that was paused ends its executions when it learns that other workers have its runs.
func (t *timeline) overBy(f Fault, worker string, began time.Time, grace time.Duration) time.Time {
	switch f.Kind {
	case Kill:
		return f.At.Add(t.Slack)
	case Outage, Drain:
		return began.Add(grace + t.Slack/settles)
	case Evict:
		f.Until = f.At.Add(t.Recovery)
	}
	for again := !f.Until.IsZero(); again; { // another fault may prevent the worker from learning that
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
