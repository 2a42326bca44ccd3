package schedule

import (
	"errors"
	"strings"
	"time"
)

// FinishBy is the time by which the run of a slot must have ended: a time of day, or a duration after the slot.
type FinishBy struct {
	after        time.Duration // of the slot; 0: a time of day
	hour, minute int
	zone         *time.Location
}

// ParseFinishBy reads a duration such as 3h, or a time of day such as 06:00 in the given zone. A time of day may have a zone of its
// own, such as 06:00 Europe/Berlin.
func ParseFinishBy(text, zone string) (f FinishBy, err error) {
	text = strings.TrimSpace(text) // a space at the end is no zone
	clock, own, hasZone := strings.Cut(text, " ")
	if hasZone {
		zone = own
	}
	at, err := time.Parse("15:04", clock)
	if err != nil || len(clock) != len("15:04") {
		f.after, err = time.ParseDuration(text)
		if err != nil || f.after <= 0 || f.after > MaxEvery {
			return f, errors.New("is neither a time of day nor a duration")
		}
		return f, nil
	}
	f.hour, f.minute = at.Hour(), at.Minute()
	f.zone, err = LoadZone(zone)
	return f, err
}

// Of returns the time for a slot. A time of day is the next one after the slot. If the clock jumps over it, it is as much later.
func (f FinishBy) Of(slot time.Time) time.Time {
	if f.after > 0 {
		return slot.Add(f.after)
	}
	year, month, day := slot.In(f.zone).Date()
	for n := -1; ; n++ { // the clock may jump over a time of the day before, or show it again
		first, last := Wall(time.Date(year, month, day+n, f.hour, f.minute, 0, 0, time.UTC), f.zone)
		for _, at := range []time.Time{first, last} {
			if at.After(slot) {
				return at.UTC()
			}
		}
	}
}
