package main

import (
	"context"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// runsOutput is what `rota runs` prints: the runs, and the ranges of slots that have no runs.
type runsOutput struct {
	api.RunList
	Missed []timeline.Entry `json:"missed,omitempty"`
}

// missedRanges returns the ranges of slots that were skipped without a record for each, oldest first, in the time of the runs.
// more says that there are earlier runs, which are not shown. A list by states or labels has no ranges.
func missedRanges(
	ctx context.Context, cl *client.Client, f client.RunFilter, runs []api.RunView, more bool,
) ([]timeline.Entry, error) {
	if f.Selector != "" || len(f.States) > 0 && !slices.Contains(f.States, job.Skipped) {
		return nil, nil
	}
	return cl.Ranges(ctx, api.RangesSince(runs, more, f.Since), f.Job)
}

// writeMissed writes ranges of slots that have no runs.
func writeMissed(p *page, ranges []timeline.Entry) {
	if len(ranges) == 0 {
		return
	}
	p.line("\nslots without runs:")
	for _, r := range ranges {
		p.line("- %s to %s: %s", p.moment(r.From), p.moment(r.To), printable(r.Text))
	}
}
