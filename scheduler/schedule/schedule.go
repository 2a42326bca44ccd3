package schedule

import (
	"slices"
	"sort"
	"time"
)

// lookAhead bounds the search for the next slot, in milliseconds. The rarest expressions fire every 40 years (the
// fifth Monday of February around 2100).
const lookAhead = 100 * 366 * secondsPerDay * 1000

// Schedule is a parsed Spec. It does not change and may be used by several goroutines.
//
// Inside the package, instants are milliseconds since 1970 UTC. No schedule is finer, and integers are fast to compare.
type Schedule struct {
	*plan
	offset time.Duration
}

// plan determines the slots. Jobs with the same slots share it.
type plan struct {
	zone    *time.Location
	rules   []rule
	at      []int64   // one-shot slots, ascending
	first   int64     // no slot before it
	last    int64     // no slot after it
	exclude []int64   // days, ascending
	days    *openDays // the days on which the job runs; nil: every day
}

// recurrence returns the only rule of the plan with its zone; false if the plan has more.
func (p *plan) recurrence() (recurrence, bool) {
	if len(p.rules) != 1 || len(p.at) > 0 || len(p.exclude) > 0 || p.days != nil || p.first != firstSlot || p.last != lastSlot {
		return recurrence{}, false
	}
	return recurrence{p.zone, p.rules[0]}, true
}

// Next returns the first slot strictly after the given time, in UTC. false means that there is none in the 100 years after
// that time, or after start if that is later.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	slot, ok := s.next(s.clamp(after), s.last)
	if !ok {
		return time.Time{}, false
	}
	t := time.UnixMilli(slot).UTC()
	return t, t.After(after) // the loops of callers depend on this
}

// Zone returns the time zone in which the wall times of the schedule are.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Offset returns the job's jitter in whole milliseconds: the same on every replica and for every slot, at least 0 and
// less than Spec.Jitter. It does not move slots: a run starts at its slot plus Offset.
func (s *Schedule) Offset() time.Duration { return s.offset }

// Offset returns the Schedule.Offset of a job named seed with the given jitter, in whole milliseconds.
func Offset(seed string, jitter time.Duration) time.Duration {
	return time.Duration(draw(seed, jitterSalt, uint64(jitter.Milliseconds()))) * time.Millisecond
}

// For returns the schedule of a job named seed that has the same slots and the given jitter. s may have hashed expressions only if
// seed is its own.
func (s *Schedule) For(seed string, jitter time.Duration) *Schedule {
	if jitter == 0 && s.offset == 0 {
		return s
	}
	return &Schedule{plan: s.plan, offset: Offset(seed, jitter)}
}

// Count returns the number of slots in (after, upTo]. It stops counting at limit; exact is false then. For a list, or for a
// single period without excluded dates, it computes the number without counting and ignores limit.
func (s *Schedule) Count(after, upTo time.Time, limit int) (n int, exact bool) {
	from, to := s.clamp(after), min(s.clamp(upTo), s.last)
	if len(s.rules) == 1 && s.rules[0].period > 0 && len(s.exclude) == 0 && s.days == nil {
		period := s.rules[0].period
		from = max(from, s.first-1)
		return int(max(0, floorDiv(to, period)-floorDiv(from, period))), true
	}
	if len(s.rules) == 0 {
		limit = 2 * len(s.at) // a moved slot may become two
	}
	for {
		slot, ok := s.next(from, to)
		if !ok {
			return n, true
		}
		if n >= limit {
			return n, false
		}
		n, from = n+1, slot
	}
}

// Last returns the last n slots in (after, upTo], the earliest first. The amount of work grows with n, and hardly with the
// length of the interval.
func (s *Schedule) Last(after, upTo time.Time, n int) []time.Time {
	from, to := s.clamp(after), min(s.clamp(upTo), s.last)
	var slots []time.Time
	for step := int64(1000); len(slots) < n; {
		slot, ok := s.lastIn(from, to, step)
		if !ok {
			break
		}
		slots = append(slots, time.UnixMilli(slot).UTC())
		step = max(1, to+1-slot) // a good guess, because slots tend to be evenly spaced
		to = slot - 1
	}
	slices.Reverse(slots)
	return slots
}

// lastIn returns the last slot in (from, to]. It searches backwards in steps that double until it finds a slot. Then a
// binary search finds the last one.
func (s *Schedule) lastIn(from, to, step int64) (int64, bool) {
	low, high := to, to // no slot in (high, to]
	var slot int64
	for {
		if low <= from {
			return 0, false
		}
		low = max(from, low-step)
		var ok bool
		if slot, ok = s.next(low, to); ok {
			break
		}
		high, step = low, min(step*2, lookAhead/2)
	}
	for slot < high {
		middle := slot + (high-slot)/2
		if next, ok := s.next(middle, to); ok {
			slot = next
		} else {
			high = middle
		}
	}
	return slot, true
}

// next returns the first slot after the given millisecond, if it is at most limit.
func (s *Schedule) next(after, limit int64) (int64, bool) {
	after = max(after, s.first-1)
	limit = min(limit, s.last)
	if len(s.rules) > 0 {
		limit = min(limit, after+lookAhead)
	}
	slot, ok := s.nextInPlace(after, limit)
	if !s.days.moves() {
		return slot, ok
	}
	if ok {
		limit = slot - 1
	}
	if moved, found := s.nextMoved(after, limit); found {
		return moved, true
	}
	return slot, ok
}

// nextInPlace does the same as next for the slots that did not move to another day.
func (s *Schedule) nextInPlace(after, limit int64) (int64, bool) {
	for {
		slot, ok := s.nextOfAny(after, limit)
		if !ok || len(s.exclude) == 0 && s.days == nil {
			return slot, ok
		}
		day, end := s.dayAt(slot)
		if s.open(day) {
			return slot, true
		}
		after = max(end, (s.days.following(day)*secondsPerDay-reach)*1000) - 1
	}
}

func (s *Schedule) nextOfAny(after, limit int64) (slot int64, found bool) {
	if i := sort.Search(len(s.at), func(i int) bool { return s.at[i] > after }); i < len(s.at) && s.at[i] <= limit {
		slot, found, limit = s.at[i], true, s.at[i]
	}
	for i := range s.rules {
		if next, ok := s.rules[i].next(s.zone, after, limit); ok {
			slot, found, limit = next, true, next
		}
	}
	return slot, found
}

// dayAt returns the date of an instant in the job's zone, and the first millisecond that may have another date.
func (s *Schedule) dayAt(slot int64) (day, end int64) {
	second := floorDiv(slot, 1000)
	sp := bounds(s.zone, second)
	day, _ = dayOf(second + sp.offset)
	return day, 1000 * min(sp.end, (day+1)*secondsPerDay-sp.offset)
}

// Slots exist from the year 1 to the year 9999, the range of RFC 3339.
const (
	firstSlot = -62135596800_000
	lastSlot  = 253402300799_999
)

// clamp returns t in milliseconds, rounded down, and at most one millisecond outside the range of slots.
func (s *Schedule) clamp(t time.Time) int64 {
	switch {
	case t.Before(time.UnixMilli(firstSlot)):
		return firstSlot - 1
	case t.After(time.UnixMilli(lastSlot)):
		return lastSlot
	}
	return t.UnixMilli()
}
