package web

import (
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// calendarData is one calendar of the view calendars.
type calendarData struct {
	api.CalendarView
	Coming, Off []string // the next further dates, and the next dates that are left out
	More        int      // jobs beside those that the view names
}

// shownDates is how many dates of a calendar a page lists.
const shownDates = 12

func (s *site) calendars(r *http.Request) (*page, error) {
	list, err := get[api.CalendarList](s, r, "/v1/calendars")
	if err != nil {
		return nil, err
	}
	today, all := s.ops.Now().UTC().Format("2006-01-02"), []calendarData{}
	for _, v := range list.Calendars {
		all = append(all, calendarData{
			CalendarView: v, Coming: datesFrom(v.Dates, today), Off: datesFrom(v.Except, today), More: v.Jobs - len(v.First),
		})
	}
	return &page{View: "calendars", Title: "Calendars", Watch: "*", Data: all}, nil
}

// datesFrom returns the first dates of a sorted list from a day on.
func datesFrom(dates []string, day string) (list []string) {
	for _, date := range dates {
		if date >= day && len(list) < shownDates {
			list = append(list, date)
		}
	}
	return list
}
