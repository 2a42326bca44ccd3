package backend

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// Runs returns the runs that q selects, the newest slot first.
func (b *Backend) Runs(_ context.Context, q api.RunQuery) ([]api.RunView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	accept := q.Includes
	if q.Visible != nil {
		shown := make(map[string]bool) // by job: a job may have a million runs
		for _, name := range b.jobsOf(q) {
			shown[name] = q.Shows(name)
		}
		accept = func(r *job.Run) bool { return shown[r.Job] && q.Includes(r) }
	}
	return views(b.mirror.FirstRuns(q.Job, q.Limit, store.Always, api.CompareRuns, accept)), nil
}

// jobsOf returns the jobs whose runs q may select.
func (b *Backend) jobsOf(q api.RunQuery) []string {
	if q.Job != "" {
		return []string{q.Job}
	}
	return b.mirror.JobsOfRuns()
}
