package backend

import (
	"context"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// listJobs is the largest number of jobs in a page.
const listJobs = 5000

// ListJobs returns a page of the jobs that q selects.
func (b *Backend) ListJobs(_ context.Context, q api.ListQuery) (page []api.JobView, more bool, err error) {
	if err := b.up(); err != nil {
		return nil, false, err
	}
	jobs := b.mirror.JobsThat(func(j *job.Job) bool { return j.Name > q.After })
	if q.Accepts != nil {
		jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool { return !q.Accepts(j) })
	}
	slices.SortFunc(jobs, func(a, b *job.Job) int { return strings.Compare(a.Name, b.Name) })
	size := 0
	for i, j := range jobs {
		v := b.jobView(j)
		if size += v.Bytes(); i == listJobs || i > 0 && size > q.Bytes {
			return page, true, nil
		}
		page = append(page, v)
	}
	return page, false, nil
}
