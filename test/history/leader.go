package history

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// byWorker are the reasons for which a worker hands back what it was given.
var byWorker = []string{
	"worker is stopping", "stopped before it began", "worker has no room", "worker could not read its definition",
	"the job was changed", "worker's disk cannot be written to", "worker cannot start attempts",
}

// byLeader says whether only a leader makes such a step. That is the birth of a slot's run and its end before anybody began it,
// giving it to a worker and taking it away, and ending an attempt for a worker that is lost or does not. Workers claim runs, hand
// them back and tell how attempts ended, and clients ask for runs and for their end. A leader says "the job was changed" as
// workers do, so that step is left out.
func byLeader(prev *runVersion, v runVersion) bool {
	if prev == nil {
		return v.run.Kind == job.KindScheduled
	}
	from, to := &prev.run, &v.run
	asked := from.Cancel == nil && to.Cancel != nil
	switch {
	case to.Term != from.Term, to.State == job.Armed, to.State == job.Skipped:
		return true
	case asked:
		return to.Cancel.By == "rota"
	case to.State == from.State: // it says why a run waits, or reminds its worker of what was asked for
		return !to.State.Terminal()
	case from.State == job.Armed && to.State == job.Pending:
		if n := len(to.Attempts); n > 0 && to.Attempts[n-1].Token == from.Rev { // its worker does not know whether it has claimed it
			return false
		}
		return !slices.Contains(byWorker, to.Reason)
	case from.State == job.Running:
		n := len(to.Attempts)
		return n > 0 && to.Attempts[n-1].GivenUp
	}
	return false
}
