package planner_test

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// isRoot reports whether a job of the workflow has no parents.
func isRoot(name string) bool { return name == root || name == other }

// defineRoots defines the jobs without parents. They have the same slots, and jitters of their own.
func (w *sim) defineRoots() {
	every := []time.Duration{3 * time.Second, 7 * time.Second, 20 * time.Second}[w.n(3)]
	for _, name := range []string{root, other} {
		w.define(name, w.rootSpec(every))
	}
}

func (w *sim) rootSpec(every time.Duration) job.Spec {
	spec := job.Spec{
		Every: job.Duration(every), Overlap: job.OverlapPolicies()[w.n(4)], Missed: job.MissedPolicies()[w.n(3)],
		Retry: &job.Retry{Max: w.n(2), MaxDelay: job.Duration(5 * time.Second)},
	}
	if w.chance(0.3) {
		spec.Jitter = job.Duration(w.upTo(20 * time.Second).Truncate(time.Millisecond))
	}
	if w.chance(0.2) {
		spec.FinishBy = w.finishBy()
	}
	w.sometimesBound(&spec)
	return spec
}

// sometimesBound is bound for few jobs of a workflow.
func (w *sim) sometimesBound(spec *job.Spec) {
	if w.chance(0.2) {
		w.bound(spec)
	}
}

// redefineRoots changes the policies of a job without parents, or the slots of both. Sometimes they have different slots then.
func (w *sim) redefineRoots(name string) {
	j := w.store.job(name)
	spec := w.rootSpec(j.Spec.Every.Std())
	if w.chance(0.5) {
		spec.Every = job.Duration(5+w.n(20)) * job.Duration(time.Second)
		for _, both := range []string{root, other} {
			if o := w.store.job(both); o != nil && both != name && w.chance(0.9) {
				same := *o.Spec
				same.Every = spec.Every
				w.redefine(o, same)
			}
		}
	}
	w.redefine(j, spec)
}
