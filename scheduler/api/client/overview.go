package client

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// Overview summarizes all jobs: what runs, what waits and for what, what fails, and what comes next.
func (c *Client) Overview(ctx context.Context) (api.OverviewView, error) {
	return get[api.OverviewView](ctx, c, "/v1/overview", nil)
}

// JobFilter selects jobs. Its zero value selects all jobs.
type JobFilter struct {
	Search   string   // part of the name or of the description
	Selector string   // labels that the jobs have, such as team=billing
	States   []string // of api.JobStates
	Recent   int      // how many of its latest runs each job gets
	Limit    int      // most jobs in one page; 0: the default of the server
}

// FindJobs returns one page of jobs, in the order of names. next is the field Continue of the previous page; empty for the first
// page.
func (c *Client) FindJobs(ctx context.Context, f JobFilter, next string) (api.JobPage, error) {
	query := parameters(
		"search", f.Search, "selector", f.Selector, "recent", number(f.Recent), "limit", number(f.Limit), "continue", next,
	)
	query["state"] = f.States
	return get[api.JobPage](ctx, c, "/v1/find/jobs", query)
}

// Calendars returns the calendars that jobs name.
func (c *Client) Calendars(ctx context.Context) ([]api.CalendarView, error) {
	l, err := get[api.CalendarList](ctx, c, "/v1/calendars", nil)
	return l.Calendars, err
}

// GanttFilter selects jobs and a span of time.
type GanttFilter struct {
	From, Until time.Time // from included, until excluded; at most api.MaxGantt apart
	Search      string    // part of the name or of the description
	States      []string  // of api.JobStates
	Job         string    // only this job, also if it has neither runs nor slots
	Limit       int       // most jobs in one page; 0: the default of the server
}

// Gantt returns the runs and the slots of jobs in a span of time, past and planned. next is the field Continue of the previous
// page; empty for the first page.
func (c *Client) Gantt(ctx context.Context, f GanttFilter, next string) (api.GanttView, error) {
	query := parameters("search", f.Search, "continue", next, "limit", number(f.Limit), "job", f.Job)
	query["state"] = f.States
	query.Set("from", f.From.UTC().Format(time.RFC3339Nano))
	query.Set("until", f.Until.UTC().Format(time.RFC3339Nano))
	return get[api.GanttView](ctx, c, "/v1/gantt", query)
}

// Load says how many runs begin in each minute of the coming week, by the schedules alone.
func (c *Client) Load(ctx context.Context) (api.LoadView, error) {
	return get[api.LoadView](ctx, c, "/v1/load", nil)
}

// Month returns the slots of a job in one month of its time zone, and how their runs ended. Year 0 means the present month.
func (c *Client) Month(ctx context.Context, name string, year int, month time.Month) (api.MonthView, error) {
	asked := ""
	if year != 0 {
		asked = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
	}
	return get[api.MonthView](ctx, c, jobPath(name)+"/month", parameters("month", asked))
}

// WorkflowRuns returns the latest runs of the workflow of a job: a row for each slot, with the run of each step. limit 0 means the
// default of the server.
func (c *Client) WorkflowRuns(ctx context.Context, name string, limit int) (api.WorkflowRunsView, error) {
	return get[api.WorkflowRunsView](ctx, c, jobPath(name)+"/workflow/runs", parameters("limit", number(limit)))
}
