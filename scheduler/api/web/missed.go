package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// shownRanges is how many ranges of slots without runs a page lists.
const shownRanges = 20

// missed returns the ranges of slots that were skipped without a record for each, the latest first, in the time of the runs.
// jobName selects one job; "" means all. since is empty if the list of runs begins with the oldest.
func (s *site) missed(r *http.Request, jobName, since string, runs []api.RunView, more bool) ([]timeline.Entry, error) {
	switch {
	case more && len(runs) > 0:
		since = runs[len(runs)-1].Created.Format(time.RFC3339Nano)
	case since == "":
		since = time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	ask := url.Values{"since": {since}}
	if jobName != "" {
		ask.Set("job", jobName)
	}
	line, err := get[api.Timeline](s, r, "/v1/timeline?"+ask.Encode())
	list := slices.DeleteFunc(line.Entries, func(e timeline.Entry) bool {
		return e.Run != "" || e.Kind != timeline.KindMissed && e.Kind != timeline.KindSkipped
	})
	slices.Reverse(list)
	return list[:min(shownRanges, len(list))], err
}

// mayHaveRanges reports whether a list of runs in a state also shows slots without runs.
func mayHaveRanges(state string) bool { return state == "" || state == string(job.Skipped) }
