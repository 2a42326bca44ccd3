package schedule

import (
	"errors"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // zones exist on machines without a database of their own
)

// reach is more than the largest change of a zone's offset, which is 24 hours at the date line. A change does not affect
// wall times further away than this.
const reach = 26 * 60 * 60

// span is a stretch of time, in seconds since 1970 UTC, throughout which a zone has one offset.
type span struct {
	start, end int64 // start included, end excluded
	offset     int64 // seconds east of UTC
}

// spanAt returns a span that contains t. The offset may hold longer than the span. The start of the span is either a change of
// offset or more than reach before t.
func spanAt(zone *time.Location, t int64) span {
	s := bounds(zone, t)
	for t-s.start < reach {
		before := bounds(zone, s.start-1)
		if before.offset != s.offset {
			break
		}
		s.start = before.start
	}
	return s
}

// extended returns s with its end moved to the next change of offset, if that comes within reach.
func extended(zone *time.Location, s span) span {
	for limit := s.end + reach; s.end < limit; {
		after := bounds(zone, s.end)
		if after.offset != s.offset {
			break
		}
		s.end = after.end
	}
	return s
}

// bounds is Time.ZoneBounds in seconds, with one fix. After the last change in its table a zone follows a yearly rule, and
// bounds end with the year. But on December 31 of a leap year ZoneBounds returns an end that has passed. In that case bounds
// uses the end of that day.
func bounds(zone *time.Location, t int64) span {
	const farPast, farFuture = math.MinInt64 / 4, math.MaxInt64 / 4
	if zone == time.UTC {
		return span{farPast, farFuture, 0}
	}
	at := time.Unix(t, 0).In(zone)
	_, offset := at.Zone()
	start, end := at.ZoneBounds()
	s := span{farPast, farFuture, int64(offset)}
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	if s.end <= t {
		s.end = (floorDiv(t, secondsPerDay) + 1) * secondsPerDay
	}
	return s
}

// LoadZone returns the zone of an IANA name, UTC for the empty one. It refuses names that depend on the machine, because
// all replicas must compute the same slots.
func LoadZone(name string) (*time.Location, error) {
	switch {
	case name == "", name == "UTC":
		return time.UTC, nil
	case strings.EqualFold(name, "local"), name == "localtime", name == "posixrules":
		return nil, errors.New("depends on the machine")
	case strings.HasPrefix(name, "right/"):
		return nil, errors.New("counts leap seconds")
	case len(name) > 64, strings.ContainsFunc(name, notInZoneName):
		return nil, errors.New("is not a time zone")
	}
	if zone, ok := zones.get(name); ok {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("is not a known time zone")
	}
	zones.put(name, zone)
	return zone, nil
}

func notInZoneName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/_+-", r)
}
