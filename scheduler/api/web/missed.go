package web

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// shownRanges is how many ranges of slots without runs a page lists.
const shownRanges = 20

// missed returns the ranges of slots that were skipped without a record for each, the latest first, in the time of the runs.
// jobName selects one job; "" means all. since is empty if the list of runs begins with the oldest.
func (s *site) missed(r *http.Request, jobName, since string, runs []api.RunView, more bool) ([]timeline.Entry, error) {
	ask := url.Values{"ranges": {"true"}, "since": {api.RangesSince(runs, more, since)}}
	if jobName != "" {
		ask.Set("job", jobName)
	}
	line, err := get[api.Timeline](s, r, "/v1/timeline?"+ask.Encode())
	list := line.Entries
	slices.Reverse(list)
	return list[:min(shownRanges, len(list))], err
}

// mayHaveRanges reports whether a list of runs in a state also shows slots without runs.
func mayHaveRanges(state string) bool { return state == "" || state == string(job.Skipped) }
