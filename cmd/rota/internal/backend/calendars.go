package backend

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// calendarJobs is how many jobs the view of a calendar names.
const calendarJobs = 5

// Calendars returns the calendars that jobs name. The days are those of the job that changed last.
func (b *Backend) Calendars(_ context.Context, visible func(name string) bool) ([]api.CalendarView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	type seen struct {
		view     api.CalendarView
		latest   *job.Job
		versions map[string]bool
	}
	all := map[string]*seen{}
	b.cfg.Activity.Each("", func(name string, j *activity.Job) bool {
		c := j.Job.Spec.Calendar
		if c == nil || c.Name() == "" || visible != nil && !visible(name) {
			return true
		}
		s := all[c.Name()]
		if s == nil {
			s = &seen{view: api.CalendarView{Name: c.Name()}, latest: j.Job, versions: map[string]bool{}}
			all[c.Name()] = s
		}
		s.versions[calendarText(c)] = true
		if j.Job.Updated.After(s.latest.Updated) {
			s.latest = j.Job
		}
		if s.view.Jobs++; len(s.view.First) < calendarJobs {
			s.view.First = append(s.view.First, name)
		}
		return true
	})
	list := make([]api.CalendarView, 0, len(all))
	for _, s := range all {
		c := s.latest.Spec.Calendar
		s.view.Weekdays, s.view.Dates = c.Weekdays, slices.Sorted(slices.Values(c.Dates))
		s.view.Except = slices.Sorted(slices.Values(c.Except))
		s.view.Versions = len(s.versions)
		list = append(list, s.view)
	}
	slices.SortFunc(list, func(x, y api.CalendarView) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

// calendarText returns the days of a calendar as one text.
func calendarText(c *job.Calendar) string {
	return strings.Join(c.Weekdays, " ") + ";" + strings.Join(c.Dates, " ") + ";" + strings.Join(c.Except, " ")
}
