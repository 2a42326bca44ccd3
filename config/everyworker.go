package config

import (
	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// workerLabels reads the labels of workers. Beside them, `all: true` asks for every worker that has them.
func (r *reader) workerLabels(n *yaml.Node, what string) map[string]string {
	labels := r.labels(n, what)
	switch all, given := labels[job.EveryWorker]; {
	case given && all == "false":
		delete(labels, job.EveryWorker)
	case given && all != "true":
		r.fail(child(n, job.EveryWorker), "write all: true for a run on every worker with the other labels",
			"%s: all is %s, not true or false", what, quote(all))
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// checkEveryWorker reports the keys that a job for every worker cannot have. own is the job's mapping.
func (r *reader) checkEveryWorker(own *yaml.Node, what string, s *job.Spec) {
	if !s.OnEveryWorker() {
		return
	}
	for _, k := range []struct {
		name  string
		given bool
	}{{"after", s.Step()}, {"approve", s.Approve != nil}} {
		if k.given {
			r.fail(keyOf(own, k.name), "remove it, or remove all from workers",
				"%s has %s and workers with all: true: only a run on one worker can have it", what, k.name)
		}
	}
}
