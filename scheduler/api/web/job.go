package web

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// jobData is the data of the view job.
type jobData struct {
	Job        api.JobView
	Runs       []api.RunView // the newest slot first
	Listed     []api.RunView // the first of them
	Next       api.NextView
	Chart      runChart
	P50, P95   time.Duration
	Samples    int
	Success    string
	Definition string
	Last       *api.RunView // the run that ended last
	More       string       // link to all runs
	State      string
	Graph      *graph           // the workflow of the job; nil if it has none
	Line       gantt            // its runs and slots around now
	LineLink   string           // to the same on the page of the time line
	Month      *month           // nil if it is not known
	Missed     []timeline.Entry // slots without runs
	Backfill   *api.BackfillView
	History    []api.AuditView // changes of the definition, the latest first
}

// The view of a job draws jobRuns runs, and lists the first of them.
const (
	jobRuns    = 60
	listedRuns = 15
)

func (s *site) job(r *http.Request) (*page, error) {
	name := r.PathValue("job")
	v, err := get[api.JobView](s, r, jobPath(name))
	if err != nil {
		return nil, err
	}
	runs, err := get[api.RunList](s, r, "/v1/runs?limit=60&job="+url.QueryEscape(name))
	if err != nil {
		return nil, err
	}
	d := &jobData{Job: v, Runs: runs.Runs, Chart: runChartOf(begun(runs.Runs, s.ops.Now()), s.ops.Now(), jobRuns)}
	d.Next, err = get[api.NextView](s, r, jobPath(name)+"/next?n=6")
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		d.Next.Notes = append(d.Next.Notes, problem.Detail)
	} else if err != nil {
		return nil, err
	}
	if err := s.addCalendar(r, d, name); err != nil {
		return nil, err
	}
	if d.Missed, err = s.missed(r, name, "", runs.Runs, runs.Continue != ""); err != nil {
		return nil, err
	}
	if d.Backfill, err = s.backfill(r, name); err != nil {
		return nil, err
	}
	d.History = s.history(r, name)
	took := durations(runs.Runs)
	d.P50, d.P95, d.Samples = percentile(took, 50), percentile(took, 95), len(took)
	d.Success = success(short(runs.Runs))
	if d.Definition, err = s.cfg.Definition(name, v.Spec); err != nil {
		return nil, err
	}
	d.More, d.Listed = "/runs?job="+url.QueryEscape(name), runs.Runs[:min(listedRuns, len(runs.Runs))]
	d.State, d.Graph = d.state(), s.workflow(r, name, latestID(runs.Runs, s.ops.Now()))
	p := &page{View: "job", Title: name, Watch: name, Data: d}
	if v.Spec.Timezone != "UTC" {
		p.Zone = v.Spec.Timezone
	}
	return p, nil
}

// shownChanges is how many changes of its definition the page of a job lists.
const shownChanges = 10

// history returns the latest changes of the definition of a job. Without audit records, there are none.
func (s *site) history(r *http.Request, name string) (list []api.AuditView) {
	all, err := get[api.AuditList](s, r, "/v1/audit?limit=100&job="+url.QueryEscape(name))
	if err != nil {
		return nil
	}
	for i := range all.Records {
		if a := &all.Records[i]; a.Kind == job.RecordJob && len(list) < shownChanges {
			list = append(list, *a)
		}
	}
	return list
}

// addCalendar adds the time line around now, and the month that the client asks for.
func (s *site) addCalendar(r *http.Request, d *jobData, name string) error {
	shown := lineSpan(d.Next.Slots)
	from, until := shown.around(s.ops.Now())
	line, err := get[api.GanttView](s, r, "/v1/gantt?"+url.Values{
		"job": {name}, "from": {from.Format(time.RFC3339)}, "until": {until.Format(time.RFC3339)},
	}.Encode())
	if err != nil {
		return err
	}
	d.Line, d.LineLink = ganttOf(&line, shown.tick), "/timeline?span="+shown.name+"&search="+url.QueryEscape(name)
	ask := url.Values{}
	if given := r.URL.Query().Get("month"); given != "" {
		ask.Set("month", given)
	}
	v, err := get[api.MonthView](s, r, jobPath(name)+"/month?"+ask.Encode())
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status != http.StatusUnprocessableEntity {
		return nil // its schedule cannot be read: the notes of the next slots say so
	}
	if err != nil {
		return err
	}
	d.Month = monthOf(&v, s.ops.Now())
	return nil
}

// latestID returns the id of the latest run that is not for later; empty if there is none.
func latestID(runs []api.RunView, now time.Time) string {
	if due := begun(runs, now); len(due) > 0 {
		return due[0].ID
	}
	return ""
}

// begun returns the runs that are due, so that submissions for later do not fill a chart.
func begun(runs []api.RunView, now time.Time) (list []api.RunView) {
	for i := range runs {
		if r := &runs[i]; r.State.Terminal() || !r.WaitsSince().After(now) {
			list = append(list, *r)
		}
	}
	return list
}

func short(runs []api.RunView) (list []api.RecentRun) {
	for i := range runs {
		list = append(list, api.RecentRun{State: runs[i].State})
	}
	return list
}

// state returns the state of the job, and finds the run that ended last.
func (d *jobData) state() string {
	active, waiting := false, false
	for i := range d.Runs {
		r := &d.Runs[i]
		active = active || r.State == job.Running
		waiting = waiting || r.State == job.Pending
		if r.State.Terminal() && r.State != job.Skipped && (d.Last == nil || r.Ended().After(d.Last.Ended())) {
			d.Last = r
		}
	}
	switch {
	case d.Last != nil && classOf(d.Last.State) == "bad":
		return "failing"
	case active:
		return "running"
	case d.Job.Paused != nil:
		return "paused"
	case d.Last != nil:
		return "ok"
	case waiting:
		return "waiting"
	}
	return "new"
}

// slot leads from a job and a time to its run, or explains why there is none.
func (s *site) slot(r *http.Request) (*page, error) {
	name, at := r.PathValue("job"), askTime(r.URL.Query().Get("time"))
	if at == "" {
		const want = "Write the time of the slot, such as " + timeExample + "."
		return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Detail: want}
	}
	v, err := get[api.ExplainView](s, r, jobPath(name)+"/explain?time="+url.QueryEscape(at))
	if err != nil {
		return nil, err
	}
	return &page{View: "slot", Title: name + " at " + at, Watch: name, Data: v}, nil
}
