package ics

import (
	"errors"
	"strings"
	"time"

	ical "github.com/arran4/golang-ical"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"github.com/teambition/rrule-go"
)

// zones has the changes of offset of the zones that a file describes itself, by their TZID. Outlook does so for its own names, such
// as W. Europe Standard Time.
type zones map[string][]change

// change is an instant from which a zone has an offset.
type change struct {
	at     time.Time
	offset time.Duration // east of UTC
}

// The bounds of the zones that are read. A rule that never matches takes the work of each of its years.
const (
	maxObservances = 20   // parts of zones
	maxChanges     = 1000 // of one part: twice a year
	firstChange    = 1601 // the year in which the clocks of Windows begin
)

// wall returns the time, written in UTC, that a clock in a zone shows at an instant; false if the zone is unknown.
func (z zones) wall(name string, at time.Time) (wall time.Time, known bool) {
	if zone, err := schedule.LoadZone(name); err == nil {
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second), true
	}
	var last change
	for _, c := range z[name] {
		if !c.at.After(at) && (!known || c.at.After(last.at)) {
			last, known = c, true
		}
	}
	return at.Add(last.offset), known
}

// readZones reads the zones of a file. It leaves out a zone that it cannot read completely.
func readZones(cal *ical.Calendar) zones {
	z, observances := zones{}, 0
	for _, zone := range cal.Timezones() {
		name := zone.GetProperty(ical.ComponentPropertyTzid)
		if name == nil {
			continue
		}
		if _, err := schedule.LoadZone(name.Value); err == nil {
			continue // wall needs no description
		}
		var all []change
		complete := true
		for _, part := range zone.Components {
			var base *ical.ComponentBase
			switch part := part.(type) {
			case *ical.Standard:
				base = &part.ComponentBase
			case *ical.Daylight:
				base = &part.ComponentBase
			default:
				continue
			}
			observances++
			if complete = complete && observances <= maxObservances; complete {
				changes, err := readChanges(base)
				all, complete = append(all, changes...), err == nil
			}
		}
		if complete {
			z[name.Value] = all
		}
	}
	return z
}

// readChanges reads when a part of a zone begins: at its DTSTART, and then as its rule says.
func readChanges(c *ical.ComponentBase) (list []change, err error) {
	text := func(name ical.Property) string {
		for i := range c.Properties {
			if p := &c.Properties[i]; strings.EqualFold(p.IANAToken, string(name)) {
				return strings.TrimSpace(p.Value)
			}
		}
		return ""
	}
	start, err1 := time.Parse("20060102T150405", text(ical.PropertyDtstart))
	before, err2 := readOffset(text(ical.PropertyTzoffsetfrom))
	offset, err3 := readOffset(text(ical.PropertyTzoffsetto))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if text(ical.PropertyRdate) != "" || start.Year() < firstChange {
		return nil, errors.New("RDATE and years before 1601 are not read")
	}
	starts := []time.Time{start}
	if rule := text(ical.PropertyRrule); rule != "" {
		o, err := rrule.StrToROption(strings.ToUpper(rule))
		switch {
		case err != nil:
			return nil, err
		case o.Freq != rrule.YEARLY:
			return nil, errors.New("only yearly rules are read")
		case o.Until.IsZero() || o.Until.After(Horizon):
			o.Until = Horizon
		case untilUTC.MatchString(strings.ToUpper(rule)):
			o.Until = o.Until.Add(before)
		}
		o.Dtstart = start
		if starts, err = occurrences(o); err != nil || len(starts) > maxChanges {
			return nil, errors.Join(err, errors.New("the rule cannot be followed"))
		}
	}
	for _, at := range starts {
		list = append(list, change{at.Add(-before), offset})
	}
	return list, nil
}

// readOffset reads an offset such as +0100.
func readOffset(text string) (time.Duration, error) {
	at, err := time.Parse("-0700", text)
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second, err
}

// occurrences returns the times of a rule, up to a few more than a file may have.
func occurrences(o *rrule.ROption) (list []time.Time, err error) {
	defer func() {
		if recover() != nil { // package rrule panics for days such as the 17th Thursday of October
			err = errors.New("its days do not exist")
		}
	}()
	later := *o
	later.Dtstart, later.Until = o.Dtstart.AddDate(cycles, 0, 0), o.Until.AddDate(cycles, 0, 0)
	rule, err := rrule.NewRRule(later)
	if err != nil {
		return nil, err
	}
	next := rule.Iterator()
	for at, ok := next(); ok && len(list) <= 4*MaxDays; at, ok = next() { // book reports more days
		list = append(list, at.AddDate(-cycles, 0, 0))
	}
	return list, nil
}
