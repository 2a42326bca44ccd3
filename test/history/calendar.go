package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// calendar holds the days on which a job runs. A day is a midnight in UTC.
type calendar struct {
	job.Calendar
	zone      *time.Location
	gap, fold string
	weekdays  map[time.Weekday]bool
	exclude   []string // dates of the job that are no target of a move
}

// calendarOf returns the calendar of a job; nil if it has none.
func calendarOf(s job.Spec, zone *time.Location) (*calendar, error) {
	if s.Calendar == nil {
		return nil, nil
	}
	c := &calendar{Calendar: *s.Calendar, zone: zone, weekdays: map[time.Weekday]bool{}, exclude: s.Exclude}
	c.gap, c.fold = onChanges(s)
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	for _, text := range c.Weekdays {
		first, last := slices.Index(names, text[:min(3, len(text))]), slices.Index(names, text[max(0, len(text)-3):])
		if first < 0 || last < 0 {
			return nil, fmt.Errorf("calendar: weekday %q", text)
		}
		for day := first; ; day = (day + 1) % 7 {
			c.weekdays[time.Weekday(day)] = true
			if day == last {
				break
			}
		}
	}
	return c, nil
}

// maxMove is how many days a slot moves at most.
const maxMove = 31

// reach returns how far a slot may move.
func (c *calendar) reach() time.Duration {
	if c == nil || c.Else == "skip" || c.Else == "" {
		return 0
	}
	return (maxMove + 3) * 24 * time.Hour
}

// on reports whether the job runs on a day.
func (c *calendar) on(day time.Time) bool {
	date := day.Format(time.DateOnly)
	belongs := (c.weekdays[day.Weekday()] || slices.Contains(c.Dates, date)) && !slices.Contains(c.Except, date)
	return belongs == (c.NotOn == "")
}

// moved returns where slots are after the calendar has dropped or moved those on other days.
func (c *calendar) moved(slots []time.Time) (list []time.Time) {
	for _, at := range slots {
		wall := c.wall(at)
		day := wall.Truncate(24 * time.Hour)
		if c.on(day) {
			list = append(list, at)
			continue
		}
		for n := 1; n <= maxMove && c.reach() > 0; n++ {
			target := day.AddDate(0, 0, n)
			if c.Else == "previous" {
				target = day.AddDate(0, 0, -n)
			}
			if !c.on(target) || slices.Contains(c.exclude, target.Format(time.DateOnly)) || len(c.instants(target.Add(12*time.Hour))) == 0 {
				continue
			}
			for _, at := range c.counted(target.Add(wall.Sub(day))) {
				if c.on(c.wall(at).Truncate(24 * time.Hour)) {
					list = append(list, at)
				}
			}
			break
		}
	}
	return list
}

// wall returns what the zone's clock shows, as if the zone were UTC.
func (c *calendar) wall(at time.Time) time.Time {
	_, offset := at.In(c.zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// instants returns the instants at which the zone's clock shows a wall time, sorted. It tries every quarter of an hour around the
// time, because a zone keeps its offset longer than that.
func (c *calendar) instants(wall time.Time) (list []time.Time) {
	for near := wall.Add(-28 * time.Hour); near.Before(wall.Add(28 * time.Hour)); near = near.Add(15 * time.Minute) {
		if at := near.Add(wall.Sub(c.wall(near))); c.wall(at).Equal(wall) && !slices.ContainsFunc(list, at.Equal) {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// counted returns the instants at which a slot runs that has moved to a wall time.
func (c *calendar) counted(wall time.Time) []time.Time {
	list := c.instants(wall)
	switch {
	case len(list) == 0 && c.gap == "run":
		before := wall.Add(-28 * time.Hour) // the last minute at which the clock shows an earlier time
		for at := before; at.Before(wall.Add(28 * time.Hour)); at = at.Add(time.Minute) {
			if c.wall(at).Before(wall) {
				before = at
			}
		}
		return []time.Time{before.Add(wall.Sub(c.wall(before)))}
	case len(list) > 1 && c.fold == "first":
		return list[:1]
	case len(list) > 1 && c.fold == "last":
		return list[len(list)-1:]
	}
	return list
}
