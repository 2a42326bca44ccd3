package backend

import (
	"context"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// ListJobs returns a page of the jobs that q selects.
func (b *Backend) ListJobs(_ context.Context, q api.ListQuery) (page []api.JobView, more bool, err error) {
	if err := b.up(); err != nil {
		return nil, false, err
	}
	jobs := b.mirror.JobsThat(func(j *job.Job) bool { return j.Name > q.After })
	// Selects reads the mirror, so it must not run while the mirror is locked.
	jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool { return !q.Selects(j) })
	slices.SortFunc(jobs, func(a, b *job.Job) int { return strings.Compare(a.Name, b.Name) })
	page, more = q.Page(func(yield func(api.JobView) bool) {
		for _, j := range jobs {
			if !yield(b.jobView(j)) {
				return
			}
		}
	})
	return page, more, nil
}
