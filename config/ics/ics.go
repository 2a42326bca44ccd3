package ics

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	ical "github.com/arran4/golang-ical"
)

// The limits of a file.
const (
	MaxSize  = 1 << 20 // bytes
	MaxDays  = 10_000  // different days of all events
	maxRules = 200     // recurrence rules
	maxWhole = 366     // days of one event
)

// Horizon is the first day that no recurring event reaches. It is fixed, so that the days of a file do not depend on the time of
// reading.
var Horizon = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Error is a mistake in a file.
type Error struct {
	Line int // from 1; 0 if the mistake has no line
	Msg  string
	Hint string
}

// Error returns the mistake in one line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s (%s)", e.Line, e.Msg, e.Hint) }

// Days returns the dates on which a file has events, in the form YYYY-MM-DD, ascending. Each error is an *Error.
func Days(text []byte) ([]string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := check(text); err != nil {
		return nil, err
	}
	text = delimiters.ReplaceAllFunc(text, capitals)
	cal, err := ical.ParseCalendarWithOptions(bytes.NewReader(text),
		ical.WithUnknownPropertyHandler(ical.AcceptUnknownPropertyHandler))
	if err != nil {
		return nil, &Error{1, "is not an iCalendar file: " + err.Error(), "export it again from the program that made it"}
	}
	b := book{days: map[time.Time]bool{}, replaced: map[instance]bool{}}
	lines, zones := eventLines(text), readZones(cal)
	events := make([]event, 0, len(lines))
	for i, e := range cal.Events() {
		line := 1
		if i < len(lines) {
			line = lines[i]
		}
		for j := range e.Properties {
			p := &e.Properties[j]
			p.IANAToken = strings.ToUpper(p.IANAToken)
		}
		one, err := readEvent(&e.ComponentBase, line, zones)
		if err != nil {
			return nil, err
		}
		if !one.replaces.IsZero() {
			b.replaced[instance{one.uid, one.replaces}] = true
		}
		events = append(events, one)
	}
	for _, e := range events {
		if err := b.add(e); err != nil {
			return nil, err
		}
	}
	if len(b.days) == 0 {
		return nil, &Error{1, "has no event", "a calendar file has at least one event of a whole day"}
	}
	list := make([]string, 0, len(b.days))
	for day := range b.days {
		list = append(list, day.Format(time.DateOnly))
	}
	slices.Sort(list)
	return list, nil
}

// delimiters matches the first and the last lines of components. RFC 5545: the case of names does not count. The library knows
// only capitals.
var delimiters = regexp.MustCompile(`(?im)^(begin|end):[a-z-]+[ \t]*\r?$`)

func capitals(line []byte) []byte { return bytes.ToUpper(bytes.TrimSpace(line)) }

// check reports a file that is too large, no text, or cut off. The library does not notice these.
func check(text []byte) error {
	if len(text) > MaxSize {
		return &Error{0, fmt.Sprintf("is larger than %d MiB", MaxSize>>20), "keep only the events of the coming years"}
	}
	line := func(at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }
	if !utf8.Valid(text) {
		at := 0
		for r, size := utf8.DecodeRune(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(text[at:]) {
			at += size
		}
		return &Error{line(at), "is not UTF-8 text", "export it again from the program that made it"}
	}
	trimmed := bytes.TrimSpace(text)
	const first, last = "BEGIN:VCALENDAR", "END:VCALENDAR"
	if n := min(len(first), len(trimmed)); !strings.EqualFold(string(trimmed[:n]), first) {
		return &Error{1, "does not begin with BEGIN:VCALENDAR", "name an iCalendar file, not a page that asks for a login"}
	}
	if n := len(trimmed) - len(last); n < 0 || !strings.EqualFold(string(trimmed[n:]), last) {
		return &Error{line(len(trimmed)), "does not end with END:VCALENDAR", "the file is cut off: download it again"}
	}
	return nil
}

// eventLines returns the lines on which events begin.
func eventLines(text []byte) (lines []int) {
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		if strings.EqualFold(strings.TrimRight(line, "\r"), "BEGIN:VEVENT") {
			lines = append(lines, n)
		}
	}
	return lines
}

// instance is one occurrence of a recurring event.
type instance struct {
	uid string
	day time.Time
}

// book collects the days of events.
type book struct {
	days     map[time.Time]bool
	replaced map[instance]bool // occurrences that another event replaces
	rules    int
}

// add adds the days of an event.
func (b *book) add(e event) error {
	starts, err := e.starts()
	if err != nil {
		return err
	}
	if b.rules += len(e.rules); b.rules > maxRules {
		return &Error{e.line, fmt.Sprintf("has more than %d recurring events up to here", maxRules), "use several calendars"}
	}
	for _, start := range starts {
		if e.cancelled || e.replaces.IsZero() && b.replaced[instance{e.uid, start}] {
			continue
		}
		for n := range e.length {
			b.days[start.AddDate(0, 0, n)] = true
		}
		if start.AddDate(0, 0, e.length-1).Year() > 9999 {
			return e.wrong("end it earlier", "has days after the year 9999")
		}
		if len(b.days) > MaxDays {
			return &Error{e.line, fmt.Sprintf("is the event with which the file has more than %d days up to %d", MaxDays, Horizon.Year()-1),
				"give the rule of the event an end (UNTIL), or use weekdays"}
		}
	}
	return nil
}
