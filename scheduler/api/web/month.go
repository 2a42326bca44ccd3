package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// month is a calendar of the slots of a job. Its weeks begin on Monday.
type month struct {
	Title, Zone     string
	Earlier, Later  string // links
	Weeks           [][7]monthDay
	Total           int
	Notes           []string
	Counted, Closed bool // some day has runs, or is left out
}

// monthDay is a day; Number 0 stands for a day of another month.
type monthDay struct {
	Number int
	Slots  string // when it has slots
	Ends   []ganttWord
	Off    string
	Hours  int // if it does not have 24
	Today  bool
	Past   bool   // before today, and no run is kept
	Link   string // to the time line of the day
}

// monthOf arranges the days of a month.
func monthOf(v *api.MonthView, now time.Time) *month {
	first, err := time.Parse("2006-01", v.Month)
	if err != nil || len(v.Days) == 0 {
		return nil
	}
	zone, err := time.LoadLocation(v.Zone)
	if err != nil {
		zone = time.UTC
	}
	m := &month{
		Title: first.Format("January 2006"), Zone: v.Zone, Notes: v.Notes,
		Earlier: "?month=" + first.AddDate(0, -1, 0).Format("2006-01") + "#month",
		Later:   "?month=" + first.AddDate(0, 1, 0).Format("2006-01") + "#month",
	}
	place := (int(first.Weekday()) + 6) % 7
	today := now.In(zone).Format(time.DateOnly)
	for i := range v.Days {
		d := &v.Days[i]
		if place%7 == 0 || i == 0 {
			m.Weeks = append(m.Weeks, [7]monthDay{})
		}
		day := monthDay{Number: i + 1, Off: d.Off, Hours: d.Hours, Today: d.Date == today, Slots: slotTimes(d, zone)}
		day.Ends = endsOf(d.Counts)
		day.Past = d.Date < today && len(day.Ends) == 0
		if start, err := time.ParseInLocation(time.DateOnly, d.Date, zone); err == nil {
			day.Link = "/timeline?span=1d&search=" + v.Job + "&from=" + start.UTC().Format(time.RFC3339)
			if d.Hours != 0 { // the clock changes on this day
				day.Link += "&until=" + start.AddDate(0, 0, 1).UTC().Format(time.RFC3339)
			}
		}
		m.Total += d.Slots
		m.Counted, m.Closed = m.Counted || len(day.Ends) > 0, m.Closed || d.Off != ""
		m.Weeks[len(m.Weeks)-1][place%7] = day
		place++
	}
	return m
}

// slotTimes says at which times of its day a job has slots.
func slotTimes(d *api.DayView, zone *time.Location) string {
	if d.Slots > len(d.First) {
		return plural(d.Slots, "slot")
	}
	var times []string
	for _, at := range d.First {
		layout := "15:04"
		if at.Second() != 0 {
			layout = "15:04:05"
		}
		times = append(times, at.In(zone).Format(layout))
	}
	return strings.Join(times, ", ")
}

// endsOf counts runs by state, with a sign and the number.
func endsOf(counts map[job.State]int) (list []ganttWord) {
	for _, state := range job.States() {
		if n := counts[state]; n > 0 {
			l := looks[string(state)]
			list = append(list, ganttWord{l.class, l.sign, fmt.Sprintf("%d %s", n, l.words)})
		}
	}
	return list
}

// lineSpan returns the span of time in which a job has about a dozen slots.
func lineSpan(slots []time.Time) span {
	if len(slots) < 2 {
		return spans[len(spans)-2]
	}
	distance := slots[len(slots)-1].Sub(slots[0]) / time.Duration(len(slots)-1)
	for _, s := range spans {
		if s.length >= 12*distance {
			return s
		}
	}
	return spans[len(spans)-1]
}
