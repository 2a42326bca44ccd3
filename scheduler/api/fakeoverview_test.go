package api_test

import (
	"context"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (f *fake) Overview(_ context.Context, visible func(string) bool) (v api.OverviewView, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.jobs {
		if visible == nil || visible(name) {
			v.Jobs++
		}
	}
	for _, r := range f.runs {
		if r.State == job.Running {
			v.Active = append(v.Active, api.NewRunView(r))
		}
	}
	return v, f.fail()
}

func (f *fake) ListJobs(ctx context.Context, q api.ListQuery) (page []api.JobView, more bool, err error) {
	all, err := f.Jobs(ctx)
	page, more = q.Page(slices.Values(slices.DeleteFunc(all, func(v api.JobView) bool { return !q.Selects(&v.Job) })))
	return page, more, err
}

func (f *fake) JobPage(ctx context.Context, q api.JobQuery) (page api.JobPage, err error) {
	all, err := f.Jobs(ctx)
	for _, v := range all {
		if strings.Contains(v.Name, q.Search) && (q.Visible == nil || q.Visible(v.Name)) {
			page.Jobs = append(page.Jobs, v)
		}
	}
	return page, err
}

func (f *fake) Gantt(ctx context.Context, q api.GanttQuery) (api.GanttView, error) {
	v := api.GanttView{From: q.From, Until: q.Until}
	jobs, err := f.Jobs(ctx)
	for i := range jobs {
		if name := jobs[i].Job.Name; (q.Job == "" || q.Job == name) && (q.Visible == nil || q.Visible(name)) {
			v.Rows = append(v.Rows, api.GanttRow{Job: name, State: "ok"})
		}
	}
	if q.Job != "" && len(v.Rows) == 0 && err == nil {
		err = job.ErrNotFound
	}
	return v, err
}

func (f *fake) Load(_ context.Context, visible func(string) bool) (v api.LoadView, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.jobs {
		if visible == nil || visible(name) {
			v.Jobs++
		}
	}
	v.Minutes = make([]int, api.LoadMinutes)
	return v, f.fail()
}

func (f *fake) Calendars(context.Context, func(string) bool) ([]api.CalendarView, error) {
	return nil, f.fail()
}

// Changed reports the jobs with an event after a revision.
func (f *fake) Changed(after int64) (int64, []string, bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var jobs []string
	for _, events := range f.history {
		for _, e := range events {
			if owner, _, _ := strings.Cut(e.Name, "/"); e.Revision > after {
				jobs = append(jobs, owner)
			}
		}
	}
	return f.rev, jobs, after >= f.oldest, nil
}
