package history

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// byWorker are the reasons for which a worker returns a run.
var byWorker = []string{
	"worker is stopping", "stopped before it began", "worker has no room", "worker could not read its definition",
	"the job was changed", "worker's disk cannot be written to", "worker cannot start attempts",
	"worker is under memory pressure", "worker is under CPU pressure",
}

// byLeader reports whether only a leader makes the step from prev to v. A leader creates a slot's run, ends it before it
// started, dispatches it, withdraws it, and ends an attempt of a lost or silent worker. Workers claim and return runs and
// report how attempts ended; clients submit, approve, reject and cancel runs. Both leaders and workers write "the job was changed", so byLeader
// returns false for that step.
func byLeader(prev *runVersion, v runVersion) bool {
	if prev == nil {
		return v.run.Kind == job.KindScheduled
	}
	from, to := &prev.run, &v.run
	asked := from.Cancel == nil && to.Cancel != nil
	switch {
	case decides(from, to):
		return false
	case to.Term != from.Term, to.State == job.Armed, to.State == job.Skipped:
		return true
	case asked:
		return to.Cancel.By == "rota"
	case to.State == from.State: // it records why a run waits, or repeats a request to its worker
		return !to.State.Terminal()
	case from.State == job.Armed && to.State == job.Pending:
		if n := len(to.Attempts); n > 0 && to.Attempts[n-1].Token == from.Rev { // its worker does not know whether its claim took effect
			return false
		}
		return !slices.Contains(byWorker, to.Reason)
	case from.State == job.Running:
		n := len(to.Attempts)
		return n > 0 && to.Attempts[n-1].GivenUp
	}
	return false
}
