package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// overviewData is the data of the view overview.
type overviewData struct {
	State     string // ok, warn or bad
	Sentence  string
	Detail    string
	Attention []notice
	Only      *notice // the only one of them, which the first line shows; nil otherwise
	Unshown   int     // notices beside them
	Cluster   api.ClusterView
	Overview  api.OverviewView
	Workers   []api.WorkerView
	Jobs      []api.JobView // a few jobs, of which the failing come first
	More      int           // jobs beside them
	Chart     minuteChart
	Capacity  int
	Busy      int
}

// notice is one thing that somebody should look at.
type notice struct {
	State   string // warn or bad
	Kind    string // of the attention item; empty for other notices
	Text    string
	Hint    string
	Command string // what to run next; may be empty
	Link    string
	Since   time.Time
}

// shownNotices is how many notices a page lists.
const shownNotices = 12

// shownJobs is how many jobs the overview lists.
const shownJobs = 12

func (s *site) overview(r *http.Request) (*page, error) {
	v, err := get[api.OverviewView](s, r, "/v1/overview")
	if err != nil {
		return nil, err
	}
	workers, err := get[api.WorkerList](s, r, "/v1/workers")
	if err != nil {
		return nil, err
	}
	cluster, clusterErr := s.ops.Cluster(r)
	d := &overviewData{Cluster: cluster, Overview: v, Workers: workers.Workers, Chart: chartOf(v.Minutes)}
	for i := range workers.Workers {
		w := &workers.Workers[i]
		d.Capacity += w.Capacity
		d.Busy += w.Running
	}
	if err := s.addJobs(r, d); err != nil {
		return nil, err
	}
	d.Attention = withFailures(attentionOf(&cluster, clusterErr, s.ops.Now()), v.Trouble)
	d.Attention = append(d.Attention, waitsOf(&v, s.ops.Now(), d.Attention)...)
	d.conclude()
	if d.Unshown = len(d.Attention) - shownNotices; d.Unshown > 0 {
		d.Attention = d.Attention[:shownNotices]
	}
	return &page{View: "overview", Title: "Overview", Watch: "*", Data: d}, nil
}

// addJobs adds the failing jobs, then other jobs, and last those that have never run.
func (s *site) addJobs(r *http.Request, d *overviewData) error {
	for _, filter := range []string{"&state=failing", "&state=running&state=waiting&state=paused&state=ok", "&state=new"} {
		if len(d.Jobs) == shownJobs {
			break
		}
		list, err := get[api.JobPage](s, r, fmt.Sprintf("/v1/find/jobs?recent=30&limit=%d%s", shownJobs-len(d.Jobs), filter))
		if err != nil {
			return err
		}
		d.Jobs = append(d.Jobs, list.Jobs...)
	}
	d.More = d.Overview.Jobs - len(d.Jobs)
	return nil
}

// urgent lists the kinds of items that are shown as problems. All other kinds are shown as warnings.
var urgent = []string{
	attention.NoLeader, attention.NotReady, attention.StoreFull, attention.Stale, attention.Lost, attention.Failing,
	attention.Ahead, attention.NoWorker,
}

// attentionOf returns what somebody should look at, in the words of `rota status`.
func attentionOf(c *api.ClusterView, err error, now time.Time) (list []notice) {
	if err != nil {
		return []notice{
			{State: "bad", Text: "This replica cannot read the state of the cluster: " + err.Error() + ".", Hint: "Ask another replica."},
		}
	}
	age := now.Sub(c.Store.AsOf)
	stale := !c.Store.AsOf.IsZero() && age > staleAfter
	if stale {
		list = append(list, notice{
			State: "bad", Kind: attention.Stale, Link: "/cluster", Command: "rota doctor",
			Text: fmt.Sprintf("Replica %s has not reached etcd for %s. This page may be old.", c.Node, spanText(age)),
		})
	}
	for _, item := range c.Attention {
		n := notice{State: "warn", Text: item.Text, Since: item.Since, Link: "/cluster", Kind: item.Kind, Command: item.Next}
		if slices.Contains(urgent, item.Kind) {
			n.State = "bad"
		}
		switch {
		case item.Run != "":
			n.Link = runLink(item.Run)
		case item.Job != "":
			n.Link = "/jobs/" + url.PathEscape(item.Job)
		case item.Kind == attention.NoWorker:
			n.Link = "/workers"
		}
		// A replica that has lost etcd is not ready for many reasons, which all say the same.
		if !stale || item.Kind != attention.Stale && item.Kind != attention.NotReady {
			list = append(list, n)
		}
	}
	return list
}

// withFailures adds the failing jobs to a list that has none. The state of the cluster may be a little older than the jobs, and a
// page must not contradict itself.
func withFailures(list []notice, failing []api.TroubleView) []notice {
	if slices.ContainsFunc(list, func(n notice) bool { return n.Kind == attention.Failing }) {
		return list
	}
	for _, t := range failing {
		text := fmt.Sprintf("Job %s fails: its last run %s", t.Job, looks[string(t.State)].words)
		if t.Reason != "" {
			text += ": " + strings.TrimSuffix(t.Reason, ".")
		}
		list = append(list, notice{
			State: "bad", Kind: attention.Failing, Text: text + ".", Link: runLink(t.Ref), Since: t.Since, Command: "rota logs " + t.Ref,
		})
	}
	return list
}

// longWait is how long a run may be due before the overview says that it waits.
const longWait = 30 * time.Second

// waitsOf lists the runs that have waited for long, by their reasons. It leaves out a reason that said has.
func waitsOf(o *api.OverviewView, now time.Time, said []notice) (list []notice) {
	names := func(w *api.WaitView) bool {
		return slices.ContainsFunc(said, func(n notice) bool {
			return n.Link == runLink(w.Ref) || n.Kind == attention.NoWorker && (&job.Run{Reason: w.Reason}).WaitsFor() == "worker"
		})
	}
	for _, w := range o.Waits {
		if now.Sub(w.Since) > longWait && !names(&w) {
			text := fmt.Sprintf("%s: %s.", verb(w.Count, "run waits", "runs wait"), w.Reason)
			list = append(list, notice{State: "warn", Text: text, Link: runLink(w.Ref), Since: w.Since})
		}
	}
	if n := o.Hour.Late; n > 0 {
		text := fmt.Sprintf("%s late in the last hour.", verb(n, "run was", "runs were"))
		list = append(list, notice{State: "warn", Text: text, Link: "/runs?since=1h"})
	}
	return list
}

func verb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// conclude writes the first line of the overview.
func (d *overviewData) conclude() {
	bad, warn := 0, 0
	for _, a := range d.Attention {
		if a.State == "bad" {
			bad++
		} else {
			warn++
		}
	}
	switch {
	case bad+warn == 0 && d.Overview.Jobs == 0 && len(d.Workers) == 0:
		d.State, d.Sentence = "warn", "There are no jobs yet, and no worker to run them."
	case bad+warn == 0 && len(d.Workers) == 0:
		d.State, d.Sentence = "warn", "No worker is present, so runs will wait."
	case bad+warn == 0 && d.Overview.Jobs == 0:
		d.State, d.Sentence = "ok", "The cluster is ready, and has no jobs yet."
	case bad+warn == 0:
		d.State, d.Sentence = "ok", "All is well."
	default:
		worst := d.Attention[0]
		for _, n := range d.Attention {
			// The head of the page already says that its data is old.
			if n.State == "bad" && (worst.State != "bad" || worst.Kind == attention.Stale) {
				worst = n
			}
		}
		d.State, d.Sentence = worst.State, worst.Text
		if n := d.Overview.Failing; n > 1 && worst.Kind == attention.Failing {
			d.Sentence = fmt.Sprintf("%d of %d jobs fail.", n, d.Overview.Jobs)
		}
	}
	switch {
	case len(d.Attention) == 1:
		d.Only = &d.Attention[0]
	case bad+warn == 0 && len(d.Workers) == 0:
		d.Only = &notice{Hint: "Start a worker.", Link: "/workers"}
	}
	var detail []string
	if o := &d.Overview; len(o.Ended) > 0 && d.State == "ok" {
		detail = append(detail, fmt.Sprintf("No job of %d fails", o.Jobs))
	}
	if bad+warn > 1 {
		detail = append(detail, fmt.Sprintf("%d things need attention", bad+warn))
	}
	if n := d.Overview.Hour.Counts[job.Succeeded]; n > 0 {
		detail = append(detail, fmt.Sprintf("%s succeeded in the last hour", plural(n, "run")))
	}
	if n := d.Overview.Running; n > 0 {
		detail = append(detail, verb(n, "run is running", "runs are running"))
	}
	if c := &d.Cluster; c.Leader != nil {
		detail = append(detail, fmt.Sprintf("%s leads %s", c.Leader.Node, plural(len(c.Replicas), "replica")))
	}
	if len(detail) > 0 {
		d.Detail = strings.Join(detail, ". ") + "."
	}
}
