package backend

import (
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// runCounts returns the counts of a mirror in the form of the API.
func runCounts(c store.RunCounts) api.RunCounts {
	return api.RunCounts{
		Scheduled: c.Phases[job.PhaseScheduled], Waiting: c.Phases[job.PhaseWaiting], Reasons: c.Waiting,
		Armed: c.Phases[job.PhaseArmed], Running: c.Phases[job.PhaseRunning], Retrying: c.Phases[job.PhaseRetrying],
		Hour: c.Hour, Day: c.Day,
	}
}
