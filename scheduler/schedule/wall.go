package schedule

import "time"

// Wall returns the first and the last instant at which a clock in zone shows the date and the time of day of wall. They differ if a
// change of the clock repeats that time. If the clock jumps over it, both are as much later as the jump is long.
//
// time.Date returns one of two instants then. The choice depends on whether the zone lies east or west of UTC.
func Wall(wall time.Time, zone *time.Location) (first, last time.Time) {
	year, month, day := wall.Date()
	utc := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), time.UTC)
	shown := utc.Unix()
	before := bounds(zone, shown-reach)
	for s := before; ; before, s = s, bounds(zone, s.end) {
		offset, t := s.offset, shown-s.offset
		jumped := t < s.start && shown-before.offset >= before.end
		if jumped {
			offset = before.offset
		}
		if jumped || s.start <= t && t < s.end {
			last = utc.Add(-time.Duration(offset) * time.Second).In(zone)
			if first.IsZero() {
				first = last
			}
		}
		if s.end > shown+reach {
			return first, last
		}
	}
}
