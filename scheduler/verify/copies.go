package verify

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkCopies checks a run on every worker with its copies, and a run that only one worker may execute. History may have removed
// copies of a run that has ended, and the run of a copy.
func (c *checker) checkCopies(r *job.Run) {
	if r.Kind == job.KindCopy {
		of := c.runs[r.Job+"/"+r.CopyOf()]
		switch {
		case r.On == "" || r.CopyOf() == r.ID:
			c.broken(1, r.Name(), r.Rev, "it is a copy for worker %q, but its id does not say so", r.On)
		case of != nil && !slices.Contains(of.Copies, r.On):
			c.broken(1, r.Name(), r.Rev, "it is a copy of run %s, which has none for worker %s", of.Name(), r.On)
		}
	}
	if r.On != "" {
		for _, a := range r.Attempts {
			if a.Worker != r.On {
				c.broken(6, r.Name(), r.Rev, "attempt %d was on worker %s, but only %s may execute it", a.Number, a.Worker, r.On)
			}
		}
		if (r.State == job.Armed || r.State == job.Running) && r.Worker != r.On {
			c.broken(6, r.Name(), r.Rev, "it is at worker %s, but only %s may execute it", r.Worker, r.On)
		}
	}
	if r.Copies == nil {
		return
	}
	if r.Attempt > 0 || len(r.Attempts) > 0 {
		c.broken(6, r.Name(), r.Rev, "it has copies on workers, but has begun itself")
	}
	for _, worker := range r.Copies {
		of := c.runs[r.Job+"/"+r.CopyID(worker)]
		switch {
		case of == nil || r.State != job.Succeeded && r.State != job.Failed:
		case !of.State.Terminal():
			c.broken(6, r.Name(), r.Rev, "it is %s, but its copy on worker %s is %s", r.State, worker, of.State)
		case r.State == job.Succeeded && of.State != job.Succeeded:
			c.broken(6, r.Name(), r.Rev, "it is succeeded, but its copy on worker %s is %s", worker, of.State)
		}
	}
}
