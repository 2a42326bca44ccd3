package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// eventsData is the data of the view events.
type eventsData struct {
	Entries    []timeline.Entry // the latest first
	Incident   *timeline.Incident
	Job, Since string
	At         string // whose incident is shown; empty: the latest
	Wrong      string // why At has none
}

// events shows what happened in the cluster, and sums up the latest incident.
func (s *site) events(r *http.Request) (*page, error) {
	q := r.URL.Query()
	d := &eventsData{Job: strings.TrimSpace(q.Get("job")), Since: q.Get("since"), At: q.Get("at")}
	ask := url.Values{"limit": {"200"}}
	if d.Job != "" {
		ask.Set("job", d.Job)
	}
	if d.Since != "" {
		ask.Set("since", askTime(d.Since))
	}
	list, err := get[api.Timeline](s, r, "/v1/timeline?"+ask.Encode())
	if err != nil {
		return nil, err
	}
	d.Entries = list.Entries
	slices.Reverse(d.Entries)
	incident, err := get[timeline.Incident](s, r, "/v1/incident?"+url.Values{"at": {askTime(d.At)}}.Encode())
	problem := (*api.Problem)(nil)
	switch {
	case err == nil:
		d.Incident = &incident
	case errors.As(err, &problem) && d.At != "":
		d.Wrong = strings.TrimPrefix(problem.Detail, "query.")
	case !errors.As(err, &problem): // a problem means that there is none, or that the client may not see all jobs
		return nil, err
	}
	return &page{View: "events", Title: "Events", Watch: "*", Data: d}, nil
}
