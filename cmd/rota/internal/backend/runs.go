package backend

import (
	"context"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Runs returns the runs that q selects, the newest slot first.
func (b *Backend) Runs(_ context.Context, q api.RunQuery) ([]api.RunView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	var runs []*job.Run
	if q.Job == "" {
		runs = b.mirror.RunsThat(q.Includes)
	} else {
		runs = b.mirror.Runs(q.Job, q.Includes)
	}
	// Shows reads the mirror, so it must not run while the mirror is locked.
	runs = firstRuns(slices.DeleteFunc(runs, func(r *job.Run) bool { return !q.Shows(r.Job) }), q.Limit)
	views := make([]api.RunView, 0, len(runs))
	for _, r := range runs {
		views = append(views, api.NewRunView(*r))
	}
	return views, nil
}

// firstRuns returns the first n of runs in the order of api.CompareRuns. It reuses the array of runs. To sort all of them would
// take longer than the rest of a request.
func firstRuns(runs []*job.Run, n int) []*job.Run {
	first, full := runs[:0], false // if full, first[:n] are sorted, and all others come after them
	cut := func() {
		slices.SortFunc(first, api.CompareRuns)
		first, full = first[:min(n, len(first))], true
	}
	for _, r := range runs {
		if full && api.CompareRuns(r, first[n-1]) > 0 {
			continue
		}
		if first = append(first, r); len(first) == 2*n {
			cut()
		}
	}
	cut()
	return first
}
