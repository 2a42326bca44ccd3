package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// lateNews is the longest time after a pause or the loss of its presence in which a process may not know that others have its
// runs.
const lateNews = 5 * time.Second

// judgeOverlap checks that two attempts of one run never execute at the same time. The same holds for two runs of a job whose
// runs may not overlap, except backfilled ones. It excuses attempts whose context has ended, and attempts of a process that was
// paused or lost its presence.
func (w *world) judgeOverlap(list []*execution) {
	backfilled := w.recorder.ofBackfills()
	open := make(map[string][]*execution) // by job: executions that may still last
	for _, e := range list {
		open[e.Job] = slices.DeleteFunc(open[e.Job], func(o *execution) bool { return !o.over.IsZero() && !o.over.After(e.Arrived) })
		for _, before := range open[e.Job] {
			if w.mayOverlap(e, before) || e.Run != before.Run && (backfilled[e.Run] || backfilled[before.Run]) {
				continue
			}
			w.fail("attempt %d of %s began at %s on %s, while attempt %d of %s executed on %s until %s", e.Attempt, e.Run,
				clockTime(e.Arrived), e.process.machine.name, before.Attempt, before.Run, before.process.machine.name, clockTime(before.over))
			w.suspect(e.Job)
		}
		open[e.Job] = append(open[e.Job], e)
	}
}

// mayOverlap reports whether there is a reason for two executions to overlap. before started first.
func (w *world) mayOverlap(e, before *execution) bool {
	for _, j := range w.plan.jobs {
		if j.Name == e.Job && j.Spec.Overlap == job.OverlapAllow && e.Run != before.Run {
			return true
		}
	}
	if e.Run != before.Run && e.unit() == before.unit() { // copies of one run
		return true
	}
	return w.ends(e, before)
}

// unit returns the name of the run of which e is a copy, or its own.
func (e *execution) unit() string { return strings.TrimSuffix(e.Run, "."+e.process.machine.name) }

// ends reports whether the first of two overlapping executions could not end before the second started.
func (w *world) ends(e, before *execution) bool {
	if !before.told.IsZero() && !before.told.After(e.Arrived) { // it may last for its kill grace, and longer only after a pause
		over := before.told.Add(w.specOf(before.Job).KillGrace.Std())
		return !before.over.IsZero() && !before.over.After(over) || w.unaware(before, over, history.Pause)
	}
	stale := before
	if e.Token < before.Token {
		stale = e
	}
	return w.unaware(stale, e.Arrived, history.Pause, history.Evict)
}

// unaware reports whether a fault of one of these kinds prevented a process from knowing, at an instant, that others have its
// execution. A fault that ended more than lateNews before the instant does not count.
func (w *world) unaware(e *execution, at time.Time, kinds ...history.FaultKind) bool {
	return slices.ContainsFunc(w.faults, func(f history.Fault) bool {
		until := f.Until
		if until.IsZero() {
			until = f.At
		}
		return slices.Contains(kinds, f.Kind) && f.Node == e.process.machine.name && !f.At.After(at) && !until.Add(lateNews).Before(at)
	})
}

// evictedUnawares reports whether v has an excuse: an execution started after one with a later token, because its process did
// not know yet that its presence was deleted. The target can reject this execution by its token.
func (w *world) evictedUnawares(v history.Violation, list []*execution) bool {
	if !strings.HasPrefix(v.Text, "its target saw token") && !strings.HasPrefix(v.Text, "token or attempt does not rise") {
		return false
	}
	name, _, _ := strings.Cut(v.What, "/")
	found, highest := false, int64(0)
	for _, e := range list {
		if e.Job != name {
			continue
		}
		if e.Run == v.What && e.Token < highest {
			if found = w.unaware(e, e.Arrived, history.Evict); !found {
				return false
			}
		}
		highest = max(highest, e.Token)
	}
	return found
}
