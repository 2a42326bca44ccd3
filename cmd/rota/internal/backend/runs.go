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
	runs = firstOf(slices.DeleteFunc(runs, func(r *job.Run) bool { return !q.Shows(r.Job) }), q.Limit, api.CompareRuns)
	views := make([]api.RunView, 0, len(runs))
	for _, r := range runs {
		views = append(views, api.NewRunView(*r))
	}
	return views, nil
}

// firstOf returns the first n of list in an order. It reuses the array of list. To sort all of them would take longer than the rest
// of a request.
func firstOf[T any](list []T, n int, compare func(a, b T) int) []T {
	first, full := list[:0], false // if full, first[:n] are sorted, and all others come after them
	cut := func() {
		slices.SortFunc(first, compare)
		first, full = first[:min(n, len(first))], true
	}
	for _, item := range list {
		if full && compare(item, first[n-1]) > 0 {
			continue
		}
		if first = append(first, item); len(first) == 2*n {
			cut()
		}
	}
	cut()
	return first
}
