package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// runsData is the data of the view runs.
type runsData struct {
	Runs   []api.RunView
	Job    string
	State  string
	Since  string
	Labels string // a selector
	States []job.State
	Next   string           // link to the next page
	Missed []timeline.Entry // slots without runs

	Backfills []api.BackfillView // nil: there are none
}

// listQuery returns the parameters of the request for a page of a list, and those that the link to the next page keeps. All lists
// have since and continue.
func listQuery(q url.Values, filters ...string) (ask, kept url.Values) {
	ask, kept = url.Values{"limit": {"100"}}, url.Values{}
	keep(ask, q, filters...)
	keep(kept, q, filters...)
	if since := q.Get("since"); since != "" {
		ask.Set("since", askTime(since))
		kept.Set("since", since)
	}
	if at := q.Get("continue"); at != "" {
		ask.Set("continue", at)
	}
	return ask, kept
}

// keep copies parameters that have a value.
func keep(to, from url.Values, names ...string) {
	for _, name := range names {
		if v := strings.TrimSpace(from.Get(name)); v != "" {
			to.Set(name, v)
		}
	}
}

// linksTo returns a function that returns the address of a view with some of its present parameters. It takes changes to them, as
// names and values. An empty value removes a parameter.
func linksTo(path string, present url.Values, names ...string) func(change ...string) string {
	return func(change ...string) string {
		v := url.Values{}
		for _, name := range names {
			v.Set(name, present.Get(name))
		}
		for pair := range slices.Chunk(change, 2) {
			v.Set(pair[0], pair[1])
		}
		maps.DeleteFunc(v, func(_ string, values []string) bool { return values[0] == "" })
		return strings.TrimSuffix(path+"?"+v.Encode(), "?")
	}
}

func (s *site) runs(r *http.Request) (*page, error) {
	q := r.URL.Query()
	ask, kept := listQuery(q, "job", "state", "selector")
	list, err := get[api.RunList](s, r, "/v1/runs?"+ask.Encode())
	if err != nil {
		return nil, err
	}
	d := &runsData{
		Runs: list.Runs, Job: ask.Get("job"), State: q.Get("state"), Since: q.Get("since"), Labels: q.Get("selector"),
		States: job.States(),
	}
	if list.Continue != "" {
		kept.Set("continue", list.Continue)
		d.Next = "/runs?" + kept.Encode()
	}
	if d.Job == "" && q.Get("continue") == "" {
		if d.Backfills, err = s.backfills(r); err != nil {
			return nil, err
		}
	}
	if mayHaveRanges(d.State) && d.Labels == "" && q.Get("continue") == "" {
		if d.Missed, err = s.missed(r, d.Job, ask.Get("since"), list.Runs, list.Continue != ""); err != nil {
			return nil, err
		}
	}
	p := &page{View: "runs", Title: "Runs", Watch: "*", Data: d}
	if d.Job != "" {
		p.Title, p.Watch = "Runs of "+d.Job, d.Job
	}
	return p, nil
}

func (s *site) workers(r *http.Request) (*page, error) {
	list, err := get[api.WorkerList](s, r, "/v1/workers")
	return &page{View: "workers", Title: "Workers", Watch: "*", Data: list.Workers}, err
}

func (s *site) limits(r *http.Request) (*page, error) {
	list, err := get[api.LimitList](s, r, "/v1/limits")
	return &page{View: "limits", Title: "Limits", Watch: "*", Data: list.Limits}, err
}

// clusterData is the data of the view cluster.
type clusterData struct {
	Cluster   api.ClusterView
	Attention []notice
	Unshown   int     // notices beside them
	Fill      float64 // of 1000, how full the store is
	Terms     *terms
}

// Gone says in one word that a replica is missing or stopped; "" if it is present or unknown. Templates call it.
func (d *clusterData) Gone(replica string) string {
	for _, m := range d.Cluster.Members {
		if m.Name == replica && m.State != "present" {
			return m.State
		}
	}
	return ""
}

func (s *site) cluster(r *http.Request) (*page, error) {
	if _, err := get[api.LimitList](s, r, "/v1/limits"); err != nil {
		return nil, err // the client may not read, or there is no store
	}
	v, err := s.ops.Cluster(r)
	d := &clusterData{Cluster: v, Attention: attentionOf(&v, err, s.ops.Now())}
	if d.Unshown = len(d.Attention) - shownNotices; d.Unshown > 0 {
		d.Attention = d.Attention[:shownNotices]
	}
	if v.Store.Quota > 0 {
		d.Fill = round(float64(v.Store.DBSize) / float64(v.Store.Quota) * 1000)
	}
	if d.Terms, err = s.terms(r, v.Leader != nil); err != nil {
		return nil, err
	}
	return &page{View: "cluster", Title: "Cluster", Watch: "*", Data: d}, nil
}

// auditData is the data of the view audit.
type auditData struct {
	Records        []api.AuditView
	Job, By, Since string
	Next           string // link to the next page
}

func (s *site) audit(r *http.Request) (*page, error) {
	q := r.URL.Query()
	ask, kept := listQuery(q, "job", "by")
	list, err := get[api.AuditList](s, r, "/v1/audit?"+ask.Encode())
	d := &auditData{Records: list.Records, Job: q.Get("job"), By: q.Get("by"), Since: q.Get("since")}
	if list.Continue != "" {
		kept.Set("continue", list.Continue)
		d.Next = "/audit?" + kept.Encode()
	}
	return &page{View: "audit", Title: "Audit", Watch: "*", Data: d}, err
}
