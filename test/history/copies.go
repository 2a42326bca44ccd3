package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// awaitsWorker is how long a copy waits for its worker, by the documentation.
const awaitsWorker = 5 * time.Minute

// unit returns the name of the run of which a run is a copy, or its own name. Copies of one run may run together.
func (t *timeline) unit(name string) string {
	if vs := t.runs[name]; len(vs) > 0 && vs[0].run.Kind == job.KindCopy {
		return strings.TrimSuffix(name, "."+vs[0].run.On)
	}
	return name
}

// laneOf returns the scope in which the tokens of a job's runs rise: the worker of a copy, or the job.
func laneOf(r *job.Run) string {
	if r.Kind == job.KindCopy {
		return r.Job + " on " + r.On
	}
	return r.Job
}

// checkCopies follows a run on every worker: the workers that accepted it when it was decided have one copy each, and it ends with
// them. It also checks that a run which only one worker may execute never moves.
func (t *timeline) checkCopies(name string, vs []runVersion) {
	report := func(v runVersion, format string, args ...any) {
		t.report(RuleCopy, name, fmt.Sprintf(format, args...)+at(v.Version))
	}
	born := vs[0].run
	if born.Kind == job.KindCopy {
		t.checkCopy(name, vs)
	}
	var chosen *runVersion // the first version that names the workers
	for i := range vs {
		v := &vs[i]
		r, spec := &v.run, t.specAt(&v.run, v.Rev)
		switch {
		case chosen != nil && !slices.Equal(r.Copies, chosen.run.Copies):
			report(*v, "the workers %v became %v", chosen.run.Copies, r.Copies)
			return
		case r.Copies != nil && (r.Attempt > 0 || r.Worker != ""):
			report(*v, "it has copies, but was given to worker %s itself", r.Worker)
			return
		case r.Worker != "" && r.On != "" && r.Worker != r.On:
			report(*v, "only worker %s may execute it, but it moved to worker %s", r.On, r.Worker)
			return
		case r.State == job.Armed && r.On == "" && spec != nil && spec.OnEveryWorker() && !t.expected[r.Job].Edited:
			report(*v, "its job runs on every worker, but it was given to worker %s alone", r.Worker)
			return
		}
		if chosen == nil && r.Copies != nil {
			chosen = v
		}
	}
	if chosen == nil {
		return
	}
	if spec := t.specAt(&chosen.run, chosen.Rev); spec != nil {
		t.checkChoice(name, *chosen, spec)
	}
	t.checkGathered(name, vs, chosen)
}

// specAt returns what r executes, by the definition in force at rev; nil if that is unknown.
func (t *timeline) specAt(r *job.Run, rev int64) *job.Spec {
	j, known := t.expected[r.Job]
	switch {
	case r.Spec != nil:
		return r.Spec
	case !known:
		return nil
	}
	j = t.as(j, rev)
	return &j.Spec
}

// checkChoice compares the workers of a run with those that were registered. The leader may learn of a change late, by at most
// History.Recovery.
func (t *timeline) checkChoice(name string, v runVersion, spec *job.Spec) {
	for _, worker := range slices.Sorted(maps.Keys(t.workers)) {
		since, last := t.accepting(worker, spec, v.Rev)
		chosen := slices.Contains(v.run.Copies, worker)
		switch {
		case !chosen && !since.IsZero() && since.Before(v.Seen.Add(-t.Recovery)):
			t.report(RuleCopy, name, fmt.Sprintf("has no copy for worker %s, which was present since %s%s", worker, stamp(since), at(v.Version)))
		case chosen && since.IsZero() && last.Before(v.Seen.Add(-t.Recovery)):
			t.report(RuleCopy, name, fmt.Sprintf("has a copy for worker %s, which did not accept it%s", worker, at(v.Version)))
		}
	}
	for _, worker := range v.run.Copies {
		if t.workers[worker] == nil {
			t.report(RuleCopy, name, fmt.Sprintf("has a copy for worker %s, which was never present%s", worker, at(v.Version)))
		}
	}
}

// checkGathered compares the end of a run with the ends of its copies. After the request of a client or a later slot that cancels
// it, it needs no further copies.
func (t *timeline) checkGathered(name string, vs []runVersion, chosen *runVersion) {
	i := slices.IndexFunc(vs, func(v runVersion) bool { return v.run.State.Terminal() })
	if i < 0 {
		return // RuleUnfinished reports it
	}
	end, bad := vs[i], 0
	canceled := end.run.State == job.Canceled
	for _, worker := range chosen.run.Copies {
		copies := t.runs[name+"."+worker]
		if len(copies) == 0 {
			if !canceled && !t.ByHand[t.Prefix+"/runs/"+name+"."+worker] {
				t.report(RuleCopy, name, "has no copy for worker "+worker+", which it names")
			}
			continue
		}
		if born := copies[0]; born.Rev <= chosen.Rev || born.Rev >= end.Rev {
			t.report(RuleCopy, name+"."+worker, "was not created between the choice of the workers and the end of its run"+at(born.Version))
		}
		k := slices.IndexFunc(copies, func(v runVersion) bool { return v.run.State.Terminal() })
		switch {
		case canceled:
		case k < 0 || copies[k].Rev >= end.Rev:
			t.report(RuleCopy, name, fmt.Sprintf("became %s before its copy on worker %s had ended%s", end.run.State, worker, at(end.Version)))
		case copies[k].run.State != job.Succeeded:
			bad++
		}
	}
	if !canceled && (end.run.State == job.Succeeded) != (bad == 0) {
		t.report(RuleCopy, name, fmt.Sprintf("is %s, but %d of its copies did not succeed%s", end.run.State, bad, at(end.Version)))
	}
}

// checkCopy checks that a copy belongs to a run, and that the leader gave it up only with a reason.
func (t *timeline) checkCopy(name string, vs []runVersion) {
	of := t.runs[t.unit(name)]
	r, end := vs[0].run, vs[len(vs)-1]
	switch {
	case r.On == "" || t.unit(name) == name:
		t.report(RuleCopy, name, "its name does not end with its worker")
		return
	case len(of) == 0 || !slices.Contains(last(of).Copies, r.On):
		if !t.ByHand[t.Prefix+"/runs/"+t.unit(name)] {
			t.report(RuleCopy, name, "its run names no such copy")
		}
		return
	}
	text := end.run.Reason
	if c := end.run.Cancel; c != nil {
		parent := last(of).Cancel
		if byClient(c) || parent != nil && parent.Is(c) {
			return
		}
		text = c.Reason
	}
	spec := t.specAt(&end.run, end.Rev)
	if !strings.HasPrefix(text, "worker ") || !strings.Contains(text, " was absent") || spec == nil || t.expected[r.Job].Edited {
		return
	}
	since, seen := t.accepting(r.On, spec, end.Rev)
	if !since.IsZero() || seen.After(end.Seen.Add(t.Recovery-awaitsWorker)) {
		t.report(RuleCopy, name, fmt.Sprintf("given up for %q, but its worker was present until %s%s", text, stamp(seen), at(end.Version)))
	}
}
