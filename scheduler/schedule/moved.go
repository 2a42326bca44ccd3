package schedule

import (
	"iter"
	"slices"
)

// millisPerDay is a day of 24 hours.
const millisPerDay = 1000 * secondsPerDay

// nextMoved returns the first slot after the given millisecond, if it is at most limit, that moved there from a day that is off.
//
// It visits the days that are off and have a slot of the rules. For each of them it finds the earliest slot that moves to a time
// later than after.
func (s *Schedule) nextMoved(after, limit int64) (best int64, found bool) {
	day, _ := s.dayAt(after)
	// A gap moves a slot past midnight at most, so its target is yesterday or later.
	day--
	ahead := int64(0) // how far a slot may move back
	if s.days.shift == ElseNext {
		for back := 0; back < MaxMove && !s.open(day-1); back++ {
			day--
		}
	} else {
		ahead = (MaxMove + 2) * millisPerDay
	}
	pos := max(s.first-1, (day*secondsPerDay-reach)*1000)
	for {
		base, ok := s.nextOfAny(pos, min(s.last, limit+ahead))
		if !ok {
			return best, found
		}
		source, end := s.dayAt(base)
		pos = end - 1
		if s.days.on(source) || s.excluded(source) {
			continue
		}
		target, ok := s.target(source)
		if !ok {
			continue
		}
		if slot, ok := s.movedTo(target, source, after, limit); ok {
			best, found, limit = slot, true, slot-1
		}
	}
}

// target returns the day to which the slots of a day that is off move; false if they are dropped. It passes over excluded dates,
// and over dates that the zone never had.
func (s *Schedule) target(source int64) (day int64, found bool) {
	step := int64(1)
	if s.days.shift == ElsePrevious {
		step = -1
	}
	for n := int64(1); n <= MaxMove; n++ {
		if day := source + n*step; s.open(day) && s.exists(day) {
			return day, true
		}
	}
	return 0, false
}

// movedTo returns the first slot in (after, limit] that moves from day source to day target.
func (s *Schedule) movedTo(target, source, after, limit int64) (int64, bool) {
	from, fromEven := s.midnight(source)
	to, toEven := s.midnight(target)
	if fromEven && toEven {
		shift := to - from
		base, ok := s.nextOfAny(max(s.first-1, from-1, after-shift), min(s.last, from+millisPerDay-1, limit-shift))
		slot := base + shift
		return slot, ok && slot >= s.first && slot <= s.last
	}
	shifts := s.shifts(source, target)
	after, limit = max(after, s.first-1), min(limit, s.last)
	for {
		slot, found := int64(0), false
		for _, shift := range shifts {
			if base, ok := s.nextOn(source, after-shift, limit-shift); ok && (!found || base+shift < slot) {
				slot, found = base+shift, true
			}
		}
		if !found || s.receives(slot, source, target, shifts) {
			return slot, found
		}
		after = slot
	}
}

// shifts returns by how many milliseconds a slot may be later after its move from day source to day target. There is one value for
// each pair of offsets that the zone has near these days.
func (s *Schedule) shifts(source, target int64) (list []int64) {
	for _, from := range s.offsets(source) {
		for _, to := range s.offsets(target) {
			if shift := 1000 * ((target-source)*secondsPerDay + from - to); !slices.Contains(list, shift) {
				list = append(list, shift)
			}
		}
	}
	return list
}

// offsets returns the offsets that the zone has on a day or near it.
func (s *Schedule) offsets(day int64) (list []int64) {
	for at := day*secondsPerDay - 2*reach; at < (day+1)*secondsPerDay+2*reach; {
		sp := bounds(s.zone, at)
		if !slices.Contains(list, sp.offset) {
			list = append(list, sp.offset)
		}
		at = sp.end
	}
	return list
}

// receives reports whether a slot moves from day source to the given millisecond of day target.
func (s *Schedule) receives(slot, source, target int64, shifts []int64) bool {
	if !s.open(s.dateAt(slot)) {
		return false
	}
	for _, shift := range shifts {
		base := slot - shift
		if _, ok := s.nextOn(source, base-1, base); !ok {
			continue
		}
		for _, w := range s.wallTimes(base, source) {
			w.wall += (target - source) * secondsPerDay
			if slices.Contains(s.showings(w), floorDiv(slot, 1000)) {
				return true
			}
		}
	}
	return false
}

// nextOn returns the first slot of the rules after the given millisecond that is on day source, if it is at most limit.
func (s *Schedule) nextOn(source, after, limit int64) (int64, bool) {
	after = max(after, s.first-1, (source*secondsPerDay-reach)*1000)
	limit = min(limit, s.last, ((source+1)*secondsPerDay+reach)*1000)
	for {
		base, ok := s.nextOfAny(after, limit)
		if !ok {
			return 0, false
		}
		day, end := s.dayAt(base)
		if day == source {
			return base, true
		}
		after = end - 1
	}
}

// wallTime is the time of day of a slot before it moves, in seconds, and how it reacts to clock changes.
type wallTime struct {
	wall int64
	gap  Gap
	fold Fold
}

// wallsOn yields the wall times of a day's slots before they move.
func (s *Schedule) wallsOn(source int64) iter.Seq[wallTime] {
	return func(yield func(wallTime) bool) {
		for base, ok := s.nextOn(source, s.first-1, s.last); ok; base, ok = s.nextOn(source, base, s.last) {
			for _, w := range s.wallTimes(base, source) {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// wallTimes returns the times of day that a slot on day source stands for. If the clock jumped over one, the slot runs later, but
// that time of day is the one that moves to another day.
func (s *Schedule) wallTimes(slot, source int64) (list []wallTime) {
	second := floorDiv(slot, 1000)
	sp := spanAt(s.zone, second)
	shown, skipped := second+sp.offset, second+bounds(s.zone, sp.start-1).offset
	isSkipped := skipped < sp.start+sp.offset && floorDiv(skipped, secondsPerDay) == source
	if _, found := slices.BinarySearch(s.at, slot); found {
		list = append(list, wallTime{shown, s.days.gap, s.days.fold})
	}
	for i := range s.rules {
		r := &s.rules[i]
		if _, ok := r.next(s.zone, slot-1, slot); !ok {
			continue
		}
		if r.fields == nil {
			list = append(list, wallTime{shown, s.days.gap, s.days.fold})
			continue
		}
		if isSkipped && r.gap == GapRun && r.matches(skipped) {
			list = append(list, wallTime{skipped, r.gap, r.fold})
			if !r.matches(shown) {
				continue
			}
		}
		list = append(list, wallTime{shown, r.gap, r.fold})
	}
	return list
}

// midnight returns the millisecond at which a day begins. even is true if the zone's clock is not set on that day or near it.
func (s *Schedule) midnight(day int64) (at int64, even bool) {
	sp := bounds(s.zone, day*secondsPerDay)
	start := day*secondsPerDay - sp.offset
	return start * 1000, sp.start <= start-reach && sp.end >= start+secondsPerDay+reach
}

// showings returns the seconds at which a moved slot runs whose wall time is given.
func (s *Schedule) showings(w wallTime) (list []int64) {
	wall := w.wall
	var gap []int64
	for at := wall - reach; at < wall+reach; {
		sp := bounds(s.zone, at)
		if shown := wall - sp.offset; shown >= sp.start && shown < sp.end && !slices.Contains(list, shown) {
			list = append(list, shown)
		}
		if next := bounds(s.zone, sp.end); wall >= sp.end+sp.offset && wall < sp.end+next.offset {
			gap = []int64{wall - sp.offset}
		}
		at = sp.end
	}
	switch {
	case len(list) == 0 && w.gap == GapRun:
		return gap
	case len(list) > 1 && w.fold == FoldFirst:
		return list[:1]
	case len(list) > 1 && w.fold == FoldLast:
		return list[len(list)-1:]
	}
	return list
}

// exists reports whether the zone's clock ever shows noon of a day. The date line has removed whole days.
func (s *Schedule) exists(day int64) bool {
	noon := day*secondsPerDay + secondsPerDay/2
	for at := noon - reach; at < noon+reach; {
		sp := bounds(s.zone, at)
		if shown := noon - sp.offset; shown >= sp.start && shown < sp.end {
			return true
		}
		at = sp.end
	}
	return false
}

// open reports whether a slot may be on a day.
func (s *Schedule) open(day int64) bool { return s.days.on(day) && !s.excluded(day) }

// excluded reports whether a day is one of the job's excluded dates.
func (s *Schedule) excluded(day int64) bool {
	_, found := slices.BinarySearch(s.exclude, day)
	return found
}

// dateAt returns the day of a slot in the job's zone.
func (s *Schedule) dateAt(slot int64) int64 {
	day, _ := s.dayAt(slot)
	return day
}
