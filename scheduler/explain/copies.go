package explain

import "github.com/rota-scheduler/rota/scheduler/job"

// addCopies adds how the copies of a run on every worker ended, or why they have not.
func addCopies(f Facts, r *job.Run, add func(format string, args ...any)) {
	if r.Copies == nil {
		return
	}
	well := 0
	for _, worker := range r.Copies {
		if c := f.Copies[worker]; c != nil && c.State == job.Succeeded {
			well++
		}
	}
	add("It is a run on every worker: %d of its %d copies succeeded.", well, len(r.Copies))
	for _, worker := range r.Copies {
		switch c := f.Copies[worker]; {
		case c == nil && r.State.Terminal():
			add("There is no record of the copy on worker %s.", worker)
		case c == nil:
			add("The copy on worker %s has not been created yet.", worker)
		case c.State.Terminal() && c.State != job.Succeeded:
			add("Copy %s ended as %s%s.", c.Name(), c.State, because(c.Reason))
		case !c.State.Terminal():
			add("Copy %s is %s%s.", c.Name(), c.State, because(c.Reason))
		}
	}
}
