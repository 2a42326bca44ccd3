package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func (e *examiner) jobs() {
	for _, j := range e.Jobs {
		if len(e.Workers) > 0 && !e.accepted(j.Spec) {
			e.add(j.Name, "No worker accepts its runs: "+e.refusal(j.Spec)+".", "start a worker that does, or change the job")
		}
	}
}

func (e *examiner) workers() {
	if len(e.Workers) == 0 {
		e.add("", "No worker is present: nothing is executed.", "start a worker, or set worker.enabled on the replicas")
	}
	for _, w := range e.Workers {
		e.limits(w)
		if w.Broken != "" {
			e.add(w.Name, "It takes no runs: "+w.Broken+".", "repair it: the worker takes runs again by itself")
		}
		for _, kind := range slices.Sorted(maps.Keys(w.Away)) {
			e.add(w.Name, "It takes no "+kind+" jobs: "+w.Away[kind]+".", "repair it: the worker takes such jobs again by itself")
		}
		switch {
		case w.Draining || len(e.Jobs) == 0:
		case !slices.ContainsFunc(e.Jobs, func(j *job.Job) bool { return w.Ready().Accepts(j.Spec) }):
			e.add(w.Name, "No job can run on it: each asks for other labels, kinds, handlers or resources.",
				"compare `workers` of the jobs with worker.labels and worker.kinds")
		}
	}
}

// limits finds resources that a worker would have to limit and cannot.
func (e *examiner) limits(w *job.Worker) {
	for _, j := range e.Jobs {
		able := *w
		able.Limits = j.Spec.LimitedByWorker()
		if w.Accepts(j.Spec) || !able.Accepts(j.Spec) {
			continue
		}
		missing := strings.Join(able.Limits, ", ")
		e.add(w.Name, fmt.Sprintf("It cannot limit the resources of job %s (%s), so it does not run it.", j.Name, missing),
			"docs/how-to/limit-resources.md (Delegate=yes of its unit)")
		return
	}
}

func (e *examiner) accepted(s *job.Spec) bool {
	return slices.ContainsFunc(e.Workers, func(w *job.Worker) bool { return w.Accepts(s) })
}

// refusal says what the workers lack for a job: its labels, or else its action, or else its resources.
func (e *examiner) refusal(s *job.Spec) string {
	var able []*job.Worker      // those with its labels
	var draining, away []string // those that would accept it
	for _, w := range e.Workers {
		unlimited := *s
		unlimited.Resources = nil
		if w.Accepts(&unlimited) {
			return "none of them can limit " + strings.Join(s.Resources.Kinds(), ", ")
		}
		if w.HasLabels(s) && !w.Draining {
			able = append(able, w)
		}
		switch {
		case !w.Ready().Accepts(s):
		case w.Draining:
			draining = append(draining, w.Name)
		default:
			away = append(away, w.Name)
		}
	}
	switch {
	case len(away) > 0:
		return s.Kind() + " jobs cannot start now on " + strings.Join(away, ", ")
	case len(draining) > 0 && len(s.WorkerLabels()) > 0:
		return "those with its labels drain: " + strings.Join(draining, ", ")
	case len(able) == 0 && len(s.WorkerLabels()) == 0:
		return "all workers stop"
	case len(able) == 0:
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(s.WorkerLabels())) {
			labels = append(labels, k+"="+s.Workers[k])
		}
		return "none has the labels " + strings.Join(labels, ", ")
	}
	return "none with its labels executes its " + s.Kind() + " (worker.kinds, registered handlers)"
}
