package schedule

import (
	"math/bits"
	"time"
)

// Load counts how many runs begin in each minute, from schedules alone. It counts schedules with the same slots together, so its
// work grows with the number of different schedules. The zero value has no schedules. It is not safe for several goroutines.
type Load struct{ jobs map[Schedule]int }

// Add adds the schedule of one job.
func (l *Load) Add(s *Schedule) {
	key := *s
	if key.onMinutes() {
		// The rest does not move a slot to another minute, because offsets of zones have been whole minutes since 1972.
		key.offset = key.offset.Truncate(time.Minute)
	}
	if l.jobs == nil {
		l.jobs = map[Schedule]int{}
	}
	l.jobs[key]++
}

// Minutes returns how many runs begin in each of n minutes. The first minute is that of from. A run begins at its slot plus the
// Offset of its schedule.
func (l *Load) Minutes(from time.Time, n int) []int {
	counts := make([]int, n)
	for s, jobs := range l.jobs {
		s.eachMinute(from.Truncate(time.Minute).UnixMilli(), counts, jobs)
	}
	return counts
}

// PerMinute returns how many slots are in each of n minutes. The first minute is that of from. Unlike Load.Minutes, it ignores
// the Offset.
func (s *Schedule) PerMinute(from time.Time, n int) []int {
	counts, plain := make([]int, n), Schedule{plan: s.plan}
	plain.eachMinute(from.Truncate(time.Minute).UnixMilli(), counts, 1)
	return counts
}

// onMinutes reports whether every slot is a whole minute.
func (s *Schedule) onMinutes() bool {
	for i := range s.rules {
		if r := &s.rules[i]; r.period%60_000 != 0 || r.fields != nil && r.fields.second != 1 {
			return false
		}
	}
	return len(s.at) == 0
}

// eachMinute adds weight to the minute of each begin. The minutes are those after from, in milliseconds.
func (s *Schedule) eachMinute(from int64, counts []int, weight int) {
	shift := s.offset.Milliseconds()
	low := from - shift
	high := low + int64(len(counts))*60_000
	add := func(slot int64, n int) { counts[(slot-low)/60_000] += n * weight }
	one := len(s.rules) == 1 && len(s.at) == 0 && !s.days.moves() && s.first <= low && s.last >= high
	switch {
	case one && s.rules[0].period > 0 && s.rules[0].period < 60_000 && len(s.exclude) == 0 && s.days == nil:
		period := s.rules[0].period
		for i := range counts {
			start := low + int64(i)*60_000
			counts[i] += weight * int(floorDiv(start+60_000-1, period)-floorDiv(start-1, period))
		}
	case one && s.rules[0].fields != nil && low%60_000 == 0:
		s.eachMatch(low/1000, high/1000, add)
	default:
		s.eachSlot(low, high, add)
	}
}

// eachSlot calls add for each slot in [low, high), one after the other.
func (s *Schedule) eachSlot(low, high int64, add func(slot int64, n int)) {
	for slot, ok := s.next(low-1, high-1); ok; slot, ok = s.next(slot, high-1) {
		add(slot, 1)
	}
}

// eachMatch calls add for each minute with slots in [low, high), in seconds. The schedule has one expression. Where the zone has
// one offset throughout and no change is near, the slots are the wall times that match, and need no search.
func (s *Schedule) eachMatch(low, high int64, add func(slot int64, n int)) {
	for low < high {
		sp := spanAt(s.zone, low)
		even := floorDiv(sp.end-reach, 60) * 60 // the data of some zones end within a minute
		switch {
		case low%60 != 0 || sp.offset%60 != 0:
			s.eachSlot(low*1000, high*1000, add)
			return
		case low-sp.start < reach:
			end := min(high, sp.start+reach, max(sp.end, low+60))
			s.eachSlot(low*1000, end*1000, add)
			low = end
		case low < even:
			end := min(high, even)
			s.eachWall(sp.offset, low, end, add)
			low = end
		default:
			end := min(high, sp.end)
			s.eachSlot(low*1000, end*1000, add)
			low = end
		}
	}
}

// eachWall does the work of eachMatch within one offset.
func (s *Schedule) eachWall(offset, low, high int64, add func(slot int64, n int)) {
	f := s.rules[0].fields
	n := bits.OnesCount64(uint64(f.second))
	for day := floorDiv(low+offset, secondsPerDay); day*secondsPerDay-offset < high; day++ {
		year, month, dom := date(day)
		if !f.days.in(year, month).has(dom) || !s.open(day) {
			continue
		}
		for hour := f.hour.from(0); hour >= 0; hour = f.hour.from(hour + 1) {
			start := day*secondsPerDay - offset + int64(hour)*3600
			if start+3600 <= low || start >= high {
				continue
			}
			for minute := f.minute.from(0); minute >= 0; minute = f.minute.from(minute + 1) {
				if at := start + int64(minute)*60; at >= low && at < high {
					add(at*1000, n)
				}
			}
		}
	}
}
