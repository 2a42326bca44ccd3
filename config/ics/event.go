package ics

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	ical "github.com/arran4/golang-ical"
	"github.com/teambition/rrule-go"
)

// event is one event of a file. Its times are midnights in UTC that stand for dates.
type event struct {
	line      int // where it begins
	uid       string
	start     time.Time
	zone      string // of a start with a time of day; empty: UTC, or none
	zones     zones  // of the file
	length    int    // days
	rules     []*rrule.ROption
	more      []time.Time        // RDATE
	without   map[time.Time]bool // EXDATE
	replaces  time.Time          // RECURRENCE-ID; zero: it replaces nothing
	cancelled bool
}

// firstYear is the earliest year of a recurring event. Its occurrences up to Horizon are counted one by one.
const firstYear = 1900

// cycles is a number of years after which days and weekdays repeat: the Gregorian calendar has a period of 400 years. The library
// searches up to the year 9999 for a day that a rule never has. Rules are evaluated this many years later, so that it ends sooner.
const cycles = 19 * 400

// readEvent reads the event whose first line is given.
func readEvent(c *ical.ComponentBase, line int, zones zones) (event, error) {
	e := event{line: line, zones: zones, without: map[time.Time]bool{}}
	text := func(name ical.ComponentProperty) string {
		if p := c.GetProperty(name); p != nil {
			return strings.TrimSpace(p.Value)
		}
		return ""
	}
	e.uid = text(ical.ComponentPropertyUniqueId)
	e.cancelled = strings.EqualFold(text(ical.ComponentPropertyStatus), "CANCELLED")
	var err error
	if e.start, err = e.date("DTSTART", text(ical.ComponentPropertyDtStart)); err != nil {
		return e, err
	}
	e.zone = zoneOf(c.GetProperty(ical.ComponentPropertyDtStart))
	end, duration := text(ical.ComponentPropertyDtEnd), text(ical.ComponentPropertyDuration)
	if err := e.readLength(end, duration, text(ical.ComponentPropertyDtStart)); err != nil {
		return e, err
	}
	if id := text(ical.ComponentPropertyRecurrenceId); id != "" {
		if e.replaces, err = e.date("RECURRENCE-ID", id); err != nil {
			return e, err
		}
		for parameter := range c.GetProperty(ical.ComponentPropertyRecurrenceId).ICalParameters {
			if strings.EqualFold(parameter, "RANGE") {
				return e, e.wrong("end the rule of the recurring event (UNTIL), and write the later ones as an event of their own",
					"has a RECURRENCE-ID with RANGE, which moves all later occurrences")
			}
		}
	}
	for _, p := range c.GetProperties(ical.ComponentPropertyRrule) {
		if err := e.readRule(p.Value); err != nil {
			return e, err
		}
	}
	if c.HasProperty(ical.ComponentPropertyExrule) {
		return e, e.wrong("write the exceptions as EXDATE", "has an EXRULE, which RFC 5545 no longer has")
	}
	for _, p := range c.GetProperties(ical.ComponentPropertyRdate) {
		list, err := e.dates("RDATE", p.Value)
		if err != nil {
			return e, err
		}
		e.more = append(e.more, list...)
	}
	for _, p := range c.GetProperties(ical.ComponentPropertyExdate) {
		list, err := e.dates("EXDATE", p.Value)
		if err != nil {
			return e, err
		}
		for _, day := range list {
			e.without[day] = true
		}
	}
	return e, nil
}

func (e *event) wrong(hint, format string, args ...any) error {
	return &Error{e.line, "the event that begins here " + fmt.Sprintf(format, args...), hint}
}

// date reads a date, or a midnight. If the start has a zone, times in UTC are converted to it.
func (e *event) date(name, text string) (time.Time, error) {
	written := text
	if at, err := time.Parse("20060102T150405Z", text); err == nil && e.zone != "" {
		wall, known := e.zones.wall(e.zone, at)
		if !known {
			return at, e.wrong("write it as a date, such as 20261225", "has the %s %s in UTC, and %s", name, text, e.unknownZone())
		}
		text = wall.Format("20060102T150405")
	}
	day, clock, timed := strings.Cut(text, "T")
	at, err := time.Parse("20060102", day)
	switch {
	case text == "":
		return at, e.wrong("an event needs a day", "has no %s", name)
	case err != nil:
		return at, e.wrong("such as 20261225", "has the %s %.40q, which is no date", name, text)
	case timed && strings.TrimSuffix(clock, "Z") != "000000":
		return at, e.wrong("make it an event of a whole day, or remove it",
			"has a time of day (%s %.40s); a calendar has whole days", name, written)
	}
	return at, nil
}

func (e *event) dates(name, text string) (list []time.Time, err error) {
	for part := range strings.SplitSeq(text, ",") {
		day, err := e.date(name, strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, day)
	}
	return list, nil
}

var wholeDays = regexp.MustCompile(`^\+?P(?:(\d{1,3})W|(\d{1,3})D(?:T0H0M0S)?|T(\d{1,4})H(?:0M)?(?:0S)?)$`)

// readLength reads how many days the event takes. An event of a date without an end takes one.
func (e *event) readLength(end, duration, start string) error {
	const hint = "an event ends at a midnight after its start"
	switch {
	case end != "":
		last, err := e.date("DTEND", end)
		if err != nil {
			return err
		}
		e.length = int(last.Sub(e.start) / (24 * time.Hour))
		if e.length == 0 && len(end) == len("20060102") {
			e.length = 1 // some programs write the day itself as the end
		}
	case duration != "":
		parts := wholeDays.FindStringSubmatch(duration)
		if parts == nil {
			return e.wrong("such as P1D", "has the DURATION %.40q, which is no number of days", duration)
		}
		weeks, _ := strconv.Atoi(parts[1])
		days, _ := strconv.Atoi(parts[2])
		hours, _ := strconv.Atoi(parts[3])
		if hours%24 != 0 {
			return e.wrong("such as P1D", "has the DURATION %.40q, which is no number of days", duration)
		}
		e.length = weeks*7 + days + hours/24
	case strings.Contains(start, "T"):
		return e.wrong(hint, "has no end")
	default:
		e.length = 1
	}
	if e.length < 1 || e.length > maxWhole {
		return e.wrong(hint, "takes %d days; 1 to %d are allowed", e.length, maxWhole)
	}
	return nil
}

// zoneOf returns the TZID of a date with a time of day; "" if it has none.
func zoneOf(p *ical.IANAProperty) string {
	for name, values := range p.ICalParameters {
		if strings.EqualFold(name, "TZID") && len(values) == 1 && strings.Contains(p.Value, "T") {
			return values[0]
		}
	}
	return ""
}

// unknownZone says that the zone of the event is unknown, and what a file needs.
func (e *event) unknownZone() string {
	return fmt.Sprintf("its zone %.40q is unknown: it is no IANA name, and the file has no VTIMEZONE for it that can be read", e.zone)
}

// untilUTC matches the end of a rule in UTC. RFC 5545 demands it if the start has a zone.
var untilUTC = regexp.MustCompile(`UNTIL=\d{8}T\d{6}Z`)

// readRule reads a recurrence rule.
func (e *event) readRule(text string) error {
	text = strings.ToUpper(text) // the case of names does not count
	o, err := rrule.StrToROption(text)
	const hint = "see RFC 5545, section 3.3.10"
	switch {
	case err != nil:
		return e.wrong(hint, "has an RRULE that cannot be read: %v", err)
	case o.Freq > rrule.DAILY || len(o.Byhour)+len(o.Byminute)+len(o.Bysecond)+len(o.Byeaster) > 0:
		return e.wrong("use FREQ=DAILY, WEEKLY, MONTHLY or YEARLY", "has an RRULE with times of day")
	case e.start.Year() < firstYear:
		return e.wrong("begin it later", "recurs since %d; the earliest year is %d", e.start.Year(), firstYear)
	case strings.Contains(text, "DTSTART"):
		return e.wrong(hint, "has an RRULE with DTSTART")
	}
	if e.zone != "" && untilUTC.MatchString(text) {
		wall, known := e.zones.wall(e.zone, o.Until)
		if !known {
			return e.wrong("write UNTIL as a date, such as UNTIL=20261225",
				"has an RRULE that ends at a time in UTC, and %s", e.unknownZone())
		}
		o.Until = wall
	}
	if o.Until.IsZero() || !o.Until.Before(Horizon) {
		o.Until = Horizon.AddDate(0, 0, -1)
	}
	o.Dtstart = e.start
	e.rules = append(e.rules, o)
	return nil
}

// starts returns the first days of all occurrences.
func (e *event) starts() (days []time.Time, err error) {
	all := append([]time.Time{e.start}, e.more...)
	for _, o := range e.rules {
		list, err := occurrences(o)
		if err != nil {
			return nil, e.wrong("see RFC 5545, section 3.3.10", "has an RRULE that cannot be read: %v", err)
		}
		if all = append(all, list...); len(all) > 4*MaxDays {
			break // book reports it
		}
	}
	kept := all[:0]
	for _, day := range all {
		if !e.without[day] {
			kept = append(kept, day)
		}
	}
	return kept, nil
}
