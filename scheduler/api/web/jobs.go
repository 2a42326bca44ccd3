package web

import (
	"net/http"
	"net/url"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// jobsData is the data of the view jobs.
type jobsData struct {
	Page    api.JobPage
	Filters []filter
	Search  string
	State   string
	Labels  string // a selector
	Next    string // link to the next page; empty if there is none
	First   string // link to the first page; empty on it
}

// filter is a link that selects jobs by state.
type filter struct {
	Name, Link string
	Count      int
	Here       bool
}

func (s *site) jobs(r *http.Request) (*page, error) {
	q := r.URL.Query()
	ask := url.Values{"recent": {"30"}, "limit": {"50"}}
	keep(ask, q, "search", "state", "selector", "continue")
	list, err := get[api.JobPage](s, r, "/v1/find/jobs?"+ask.Encode())
	if err != nil {
		return nil, err
	}
	d := &jobsData{Page: list, Search: q.Get("search"), State: q.Get("state"), Labels: q.Get("selector")}
	link := linksTo("/jobs", q, "search", "state", "selector")
	all := 0
	for _, n := range list.Counts {
		all += n
	}
	d.Filters = append(d.Filters, filter{"all", link("state", ""), all, d.State == ""})
	for _, state := range api.JobStates() {
		d.Filters = append(d.Filters, filter{looks[state].words, link("state", state), list.Counts[state], d.State == state})
	}
	if list.Continue != "" {
		d.Next = link("continue", list.Continue)
	}
	if q.Get("continue") != "" {
		d.First = link()
	}
	return &page{View: "jobs", Title: "Jobs", Watch: "*", Data: d, Search: d.Search}, nil
}

// selectJobs returns the jobs that a selector selects, from all pages of the list.
func (s *site) selectJobs(r *http.Request, selector string) (jobs []api.JobView, err error) {
	for after := ""; ; {
		target := "/v1/jobs?selector=" + url.QueryEscape(selector) + "&continue=" + url.QueryEscape(after)
		page, err := get[api.JobList](s, r, target)
		if err != nil {
			return nil, err
		}
		if jobs = append(jobs, page.Jobs...); page.Continue == "" {
			return jobs, nil
		}
		after = page.Continue
	}
}
