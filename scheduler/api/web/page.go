package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// page is what the layout shows, whatever the view.
type page struct {
	View     string // name of the template
	Title    string
	Status   int    // of the answer; 0: 200
	Watch    string // what the view shows: a job's name, or * for all jobs; empty if it need not be refreshed
	Zone     string // time zone of the job that the view shows; empty for none
	Note     string // says what an action has done
	Data     any
	Now      time.Time
	Revision int64  // the data has every change up to it
	Path     string // of the request
	Nav      []navItem
	Search   string // text of the search field
	Who      string
	Session  bool // the browser has signed in, and can sign out
	Cluster  clusterLine
	may      func(operation, job string) bool
	decides  func(by []string) bool
}

// May reports whether the client may perform an operation on a job. Templates call it.
func (p *page) May(operation, job string) bool { return p.may(operation, job) }

// Decides reports whether the client is one of those who decide about a run. Templates call it.
func (p *page) Decides(by []string) bool { return p.decides(by) }

// navItem is a link in the head of each page.
type navItem struct {
	Link, Name, Key string
	Also            string // another view that belongs to it; empty for none
	Here            bool
}

var navigation = []navItem{
	{Link: "/", Name: "Overview", Key: "o"},
	{Link: "/jobs", Name: "Jobs", Key: "j", Also: "/schedule"},
	{Link: "/runs", Name: "Runs", Key: "r"},
	{Link: "/timeline", Name: "Timeline", Key: "t"},
	{Link: "/events", Name: "Events", Key: "e"},
	{Link: "/workers", Name: "Workers", Key: "w"},
	{Link: "/limits", Name: "Limits", Key: "l", Also: "/calendars"},
	{Link: "/cluster", Name: "Cluster", Key: "c", Also: "/tokens"},
	{Link: "/audit", Name: "Audit", Key: "a"},
}

// clusterLine is the state of the cluster in the head of each page.
type clusterLine struct {
	Node    string
	Leader  string // empty: no replica leads, or it is unknown
	Term    int64
	Trouble string // a sentence if the data may be old; empty otherwise
	AsOf    time.Time
}

// staleAfter is the age of the data after which a page says so. While etcd answers, data is at most a few seconds old.
const staleAfter = 10 * time.Second

// complete fills the parts of a page that all views share.
func (s *site) complete(r *http.Request, p *page) {
	p.Now, p.Path, p.Who = s.ops.Now().UTC(), r.URL.Path, s.ops.Caller(r)
	p.Session = api.SessionOf(r) != ""
	p.may = func(operation, job string) bool { return s.ops.May(r, operation, job) }
	p.decides = func(by []string) bool { return s.ops.Decides(r, by) }
	p.Nav = make([]navItem, len(navigation))
	for i, item := range navigation {
		item.Here = item.Link == r.URL.Path || item.Also == r.URL.Path || item.Link != "/" && strings.HasPrefix(r.URL.Path, item.Link+"/")
		p.Nav[i] = item
	}
	if p.Note == "" {
		p.Note = doneNotes[r.URL.Query().Get("done")]
	}
	if !s.ops.May(r, "read-cluster", "") {
		return
	}
	v, err := s.ops.Cluster(r)
	p.Cluster = lineOf(&v, err, p.Now)
}

// lineOf returns the state of the cluster in short.
func lineOf(v *api.ClusterView, err error, now time.Time) clusterLine {
	line := clusterLine{Node: v.Node, AsOf: v.Store.AsOf}
	if v.Leader != nil {
		line.Leader, line.Term = v.Leader.Node, v.Leader.Term
	}
	switch age := now.Sub(v.Store.AsOf); {
	case err != nil:
		line.Trouble = "This replica cannot answer: " + err.Error() + "."
	case !v.Store.AsOf.IsZero() && age > staleAfter:
		line.Trouble = "Replica " + v.Node + " has not reached etcd for " + spanText(age) + ". This page shows the last known state."
	}
	return line
}

// get reads one answer of the API for the client of r.
func get[T any](s *site, r *http.Request, target string) (v T, err error) {
	err = s.ops.Do(r, http.MethodGet, target, nil, nil, &v)
	return v, err
}
