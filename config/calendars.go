package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rota-scheduler/rota/config/ics"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// weekday is the kind of a day of the week, or of a range of them. Package schedule checks it.
var weekday = kind[string]{
	name: "weekday", limits: "mon to sun, or a range such as mon-fri", schema: object{"type": "string", "pattern": weekdayPattern},
	read: func(r *reader, n *yaml.Node, what string) string {
		text, _ := r.scalar(n, what, "a day of the week")
		return text
	},
}

const weekdayPattern = "^(mon|tue|wed|thu|fri|sat|sun)(-(mon|tue|wed|thu|fri|sat|sun))?$"

// calendarName is the kind of the name of a calendar.
var calendarName = kind[string]{
	name: "name", schema: object{"type": "string", "pattern": namePattern, "maxLength": job.MaxNameLength},
	read: func(r *reader, n *yaml.Node, what string) string {
		name, ok := r.scalar(n, what, "the name of a calendar")
		if err := job.CheckName(name); ok && err != nil {
			r.badName(n, what+":", err)
		}
		return name
	},
}

// calendarOfJobKeys are the keys of calendar in a job.
var calendarOfJobKeys = tableOf(*job.Spec{Calendar: &job.Calendar{}}.WithDefaults().Calendar,
	key("on", calendarName, func(c *job.Calendar) *string { return &c.On },
		"nyse", "The job runs on the days of this calendar.", zero("not_on names the calendar.")),
	key("not_on", calendarName, func(c *job.Calendar) *string { return &c.NotOn },
		"holidays", "The job runs on the days that this calendar lacks.", zero("on names the calendar.")),
	key("else", asText(choiceOf(schedule.Elses())), func(c *job.Calendar) *string { return &c.Else },
		"next", "The policy for a slot on another day. It is skipped, or it moves to the next or previous day on which the job "+
			"runs, at the same time of day. It moves by 31 days at most."),
	key("weekdays", listOf(weekday, inFlow), func(c *job.Calendar) *[]string { return &c.Weekdays },
		"[mon-fri]", "Days of a calendar for this job alone. Without days, the calendar is one of the job files.",
		zero("No weekday.")),
	key("dates", listOf(date, quotedInFlow), func(c *job.Calendar) *[]string { return &c.Dates },
		`["2026-12-31"]`, "Further days of a calendar for this job alone.", zero("No date.")),
	key("except", listOf(date, quotedInFlow), func(c *job.Calendar) *[]string { return &c.Except },
		`["2026-12-25"]`, "Dates that a calendar for this job alone lacks.", zero("No date is left out.")),
)

// calendarKeys are the keys of a calendar.
var calendarKeys = tableOf(job.CalendarDays{},
	key("weekdays", listOf(weekday, inFlow), func(c *job.CalendarDays) *[]string { return &c.Weekdays },
		"[mon-fri]", "The weekdays that belong to the calendar.", zero("No weekday.")),
	key("dates", listOf(date, quotedInFlow), func(c *job.CalendarDays) *[]string { return &c.Dates },
		`["2026-12-31"]`, "Further dates that belong to the calendar.", zero("No date.")),
	key("except", listOf(date, quotedInFlow), func(c *job.CalendarDays) *[]string { return &c.Except },
		`["2026-12-25"]`, "Dates that do not belong to the calendar.", zero("No date is left out.")),
	key("ics", word(maxURL), func(c *job.CalendarDays) *string { return &c.ICS },
		"nyse.ics", "An iCalendar file beside the job file. If the calendar has weekdays, the days of its events are left out, "+
			"as with except. Otherwise they belong to the calendar, as with dates.", zero("No file.")),
)

const calendarHint = "give it weekdays, dates or ics"

// checkCalendar checks that a job's calendar has exactly one name.
func checkCalendar(r *reader, n *yaml.Node, c *job.Calendar, sound bool) {
	switch {
	case !sound, len(n.Content) == 0: // {} means no calendar
	case c.Name() == "":
		r.failAbsent(n, "on", "such as calendar: {on: nyse}", "calendar names no calendar")
	case c.On != "" && c.NotOn != "":
		r.fail(child(n, "not_on"), "keep one of them", "calendar has both on and not_on")
	}
}

// calendar reads the definition of one calendar, with its iCalendar file.
func (l *loader) calendar(r *reader, key, value *yaml.Node) {
	before := r.mistakes()
	what, ok := l.calendars.declare(r, key, value)
	var days job.CalendarDays
	if !ok || !readKeys(r, value, what, "", calendarKeys, nil, &days) || r.mistakes() != before {
		return
	}
	if len(days.Weekdays)+len(days.Dates) == 0 && days.ICS == "" {
		r.failAbsent(key, "weekdays", calendarHint, "%s has no day", what)
		return
	}
	_, err := schedule.Parse(schedule.Spec{Cron: []string{"* * * * *"}, Calendar: &schedule.Calendar{
		Name: key.Value, Weekdays: days.Weekdays, Dates: days.Dates, Except: days.Except,
	}})
	for _, e := range scheduleErrors(err) {
		if field, isOwn := strings.CutPrefix(e.Field, "calendar."); isOwn {
			at := child(value, field)
			if e.Index >= 0 && at.Kind == yaml.SequenceNode && e.Index < len(at.Content) {
				at = at.Content[e.Index]
			}
			r.fail(at, e.Hint, "%s %s %s", field, quote(e.Expr), e.Msg)
		}
	}
	if days.ICS != "" {
		events := l.events(r, child(value, "ics"), days.ICS)
		if len(days.Weekdays) > 0 {
			days.Except = append(days.Except, events...)
		} else {
			days.Dates = append(days.Dates, events...)
		}
	}
	if r.mistakes() != before {
		return // the jobs that name the calendar do not report them again
	}
	l.calendars.set(key.Value, days)
}

// events returns the dates of the events in an iCalendar file beside the source.
func (l *loader) events(r *reader, n *yaml.Node, name string) []string {
	switch {
	case r.src.json, r.src.name == "stdin":
		r.fail(n, "write the job file to a directory, or give dates", "ics names a file, and this text has no directory")
		return nil
	case name != filepath.Base(name) || !strings.HasSuffix(name, ".ics"):
		r.fail(n, "such as nyse.ics, beside the job file", "ics %s is not the name of an .ics file in the same directory", quote(name))
		return nil
	}
	path := filepath.Join(filepath.Dir(r.src.name), name)
	text, err := readFile(path)
	if err != nil {
		e := unreadable(path, err)
		r.fail(n, "put the file beside the job file, readable for rota", "ics %s %s", quote(name), e.Msg)
		return nil
	}
	events, err := ics.Days(text)
	if mistake, ok := errors.AsType[*ics.Error](err); ok {
		l.c.add(&Error{File: path, Line: mistake.Line, Msg: mistake.Msg, Hint: mistake.Hint})
	}
	return events
}

// useCalendar records that a job names a calendar.
func (l *loader) useCalendar(r *reader, n *yaml.Node, name string, c *job.Calendar) {
	if c == nil || c.Resolved() {
		return
	}
	for _, key := range []string{"on", "not_on"} {
		if at := child(n, key); at != nil {
			l.calendars.uses = append(l.calendars.uses, use{r, at, name})
		}
	}
}

// addCalendars adds to each job the days of the calendar that it names, and reports the calendars with which it has no slot.
func (l *loader) addCalendars() {
	l.calendars.resolve(func(n *yaml.Node) bool { return job.CheckName(n.Value) != nil },
		func(u use) string {
			if u.r.src.json {
				return `give its days, such as {"on": "nyse", "weekdays": ["mon-fri"]}: names have a meaning in job files only`
			}
			return "define it below calendars:, in this file or another one that is read with it"
		}, func(u use, days job.CalendarDays) {
			spec := l.jobs.known[u.job].Spec
			if spec.Calendar == nil {
				return // the job has a mistake
			}
			c := *spec.Calendar
			c.Weekdays, c.Dates, c.Except = days.Weekdays, days.Dates, days.Except
			spec.Calendar = &c
			l.jobs.set(u.job, spec)
			if !c.Resolved() {
				return // the calendar has a mistake
			}
			_, err := policy.When(u.job, &spec)
			for _, e := range scheduleErrors(err) {
				u.r.fail(u.node, e.Hint, "%s", fmt.Sprintf("job %s: %s %s", quote(u.job), strings.TrimPrefix(e.Field, "calendar."), e.Msg))
			}
		})
}
