package backend

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// monthFirst is how many slots of a day Month lists.
const monthFirst = 3

// Month returns the slots of a job in a month of its zone, and how their runs ended.
func (b *Backend) Month(_ context.Context, name string, year int, month time.Month) (api.MonthView, error) {
	j, err := b.known(name)
	if err != nil {
		return api.MonthView{}, err
	}
	when, err := b.slotsOf(j)
	if err != nil {
		return api.MonthView{}, noSlots(name, err)
	}
	zone := time.UTC
	if when != nil {
		zone = when.Zone()
	}
	v := api.MonthView{Job: name, Month: fmt.Sprintf("%04d-%02d", year, month), Zone: zone.String()}
	counts := map[string]map[job.State]int{}
	b.mirror.Runs(name, time.Time{}, func(r *job.Run) bool {
		if r.Kind == job.KindScheduled || r.Kind == job.KindBackfill {
			date := r.Slot.In(zone).Format(time.DateOnly)
			if counts[date] == nil {
				counts[date] = map[job.State]int{}
			}
			counts[date][r.State]++
		}
		return false
	})
	v.Days = daysOf(when, zone, year, month)
	for i := range v.Days {
		v.Days[i].Counts = counts[v.Days[i].Date]
	}
	if when != nil {
		from, until := midnight(year, month, 1, zone), midnight(year, month+1, 1, zone)
		for _, note := range when.Notes(from.Add(-time.Millisecond), until, 0) {
			if strings.HasPrefix(note, v.Month+"-") {
				v.Notes = append(v.Notes, note)
			}
		}
	}
	return v, nil
}

// daysOf returns the days of a month with their slots; when nil has none.
func daysOf(when *schedule.Schedule, zone *time.Location, year int, month time.Month) (days []api.DayView) {
	for date := 1; ; date++ {
		noon := time.Date(year, month, date, 12, 0, 0, 0, time.UTC)
		if noon.Month() != month {
			return days
		}
		start, end := midnight(year, month, date, zone), midnight(year, month, date+1, zone)
		d := api.DayView{Date: noon.Format(time.DateOnly)}
		if length := end.Sub(start); length != 24*time.Hour {
			d.Hours = int(length / time.Hour)
		}
		if when != nil && end.After(start) { // a zone may leave out a day
			for _, n := range when.PerMinute(start, int(end.Sub(start)/time.Minute)) {
				d.Slots += n
			}
			at, ok := when.Next(start.Add(-time.Millisecond))
			for ; ok && at.Before(end) && len(d.First) < monthFirst; at, ok = when.Next(at) {
				d.First = append(d.First, at)
			}
			d.Off = when.Off(start.Add(end.Sub(start) / 2))
		}
		days = append(days, d)
	}
}

// midnight returns the beginning of a day in zone, also if a change of the clock leaves out midnight or repeats it.
func midnight(year int, month time.Month, date int, zone *time.Location) time.Time {
	first, _ := schedule.Wall(time.Date(year, month, date, 0, 0, 0, 0, time.UTC), zone)
	return first
}
