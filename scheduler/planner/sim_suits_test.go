package planner_test

import "github.com/rota-scheduler/rota/scheduler/job"

// suits returns the labels of a worker, and what it can limit. The first worker suits all jobs.
func (w *sim) suits(i int) job.Worker {
	if i == 0 || w.chance(0.3) {
		return job.Worker{Labels: map[string]string{"zone": "a"}, Limits: []string{"cpu", "memory", "pids"}}
	}
	var limits []string
	if w.chance(0.5) {
		limits = []string{"pids"}
	}
	return job.Worker{Labels: map[string]string{"zone": []string{"a", "b"}[w.n(2)]}, Limits: limits}
}

// presence returns the record of the worker in its present session.
func (x *simWorker) presence() job.Worker {
	p := x.suits
	p.Name, p.Session, p.Capacity = x.name, x.session, x.sim.capacity()
	return p
}

// demand gives a job labels of its workers, limits of resources and parameters at random.
func (w *sim) demand(spec *job.Spec) {
	if w.chance(0.2) {
		spec.Workers = map[string]string{"zone": "a"}
	}
	if w.chance(0.2) {
		if spec.Resources = (&job.Resources{PIDs: 10}); w.chance(0.5) {
			spec.Resources.Memory = 1 << 30
		}
	}
	if w.chance(0.2) {
		spec.Params = map[string]job.Param{"env": {Default: new([]string{"stage", "prod"}[w.n(2)])}}
	}
}

// suited checks that the worker of a run that is armed suits the definition under which it is armed.
func (c *checker) suited(r *job.Run) {
	j := c.sim.store.job(r.Job)
	if j == nil || r.Spec != nil || j.Generation != r.Generation || c.specs[r.Job].Command != nil {
		return
	}
	for _, x := range c.sim.workers {
		if x.name == r.Worker && !x.suits.Suits(j.Spec) {
			c.fail("run %s is armed on worker %s, which does not suit it", r.Name(), r.Worker)
		}
	}
}

// params checks that the run of a slot has the default values of its job.
func (c *checker) params(old, r *job.Run) {
	j := c.sim.store.job(r.Job)
	if old != nil || j == nil || j.Generation != r.Generation || r.Kind != job.KindScheduled && r.Kind != job.KindBackfill ||
		c.specs[r.Job].Command != nil {
		return
	}
	if want, _ := j.Spec.DefaultParams(); want["env"] != r.Params["env"] {
		c.fail("run %s has the parameters %v, want %v", r.Name(), r.Params, want)
	}
}
