package schedule

import (
	"slices"
	"strings"
	"time"
)

// Calendar says on which days a job runs. A day belongs to the calendar if it is one of Weekdays or Dates, and not one of Except.
type Calendar struct {
	Name     string   // for messages
	Not      bool     // the job runs on the days that do not belong to the calendar
	Weekdays []string // such as mon or mon-fri
	Dates    []string // YYYY-MM-DD
	Except   []string // YYYY-MM-DD
	Else     Else     // empty means ElseSkip
}

// Else is the policy for a slot on a day on which the job does not run.
type Else string

// The policies for a slot on such a day.
const (
	ElseSkip     Else = "skip"     // there is no slot
	ElseNext     Else = "next"     // the slot moves to the next day on which the job runs, at the same time of day
	ElsePrevious Else = "previous" // the slot moves to the previous such day
)

// Elses lists every Else, the default first.
func Elses() []Else { return []Else{ElseSkip, ElseNext, ElsePrevious} }

// MaxMove is how many days a slot moves at most. If none of these days is on, the slot is dropped.
const MaxMove = 31

// openDays is a parsed Calendar.
type openDays struct {
	name     string
	not      bool
	weekdays bitset  // 0 is Sunday
	dates    []int64 // ascending
	except   []int64 // ascending
	shift    Else
	gap      Gap  // the policies of the job for a moved slot that no expression made
	fold     Fold // of these, FoldBoth gives two slots
}

// on reports whether the job runs on a day. A nil calendar has every day.
func (d *openDays) on(day int64) bool { return d == nil || d.has(day) != d.not }

// has reports whether a day belongs to the calendar.
func (d *openDays) has(day int64) bool {
	if _, found := slices.BinarySearch(d.except, day); found {
		return false
	}
	if d.weekdays.has(weekday(day)) {
		return true
	}
	_, found := slices.BinarySearch(d.dates, day)
	return found
}

// usuallyOff reports whether nobody expects a slot on a day that is off. Nobody expects one on a weekday that the calendar never
// has, and on a day that a list of days lacks. If such a list moves slots, its user wants to know the day to which they move.
func (d *openDays) usuallyOff(day int64) bool {
	if d.weekdays != 0 {
		return d.weekdays.has(weekday(day)) == d.not
	}
	_, excepted := slices.BinarySearch(d.except, day)
	return !d.not && !d.moves() && !excepted
}

// following returns a day after the given one that is not later than the next day on which the job runs.
func (d *openDays) following(day int64) int64 {
	if d == nil || d.not || d.weekdays != 0 {
		return day + 1
	}
	i, _ := slices.BinarySearch(d.dates, day+1)
	if i == len(d.dates) {
		return floorDiv(lastSlot, 1000*secondsPerDay) + 1
	}
	return d.dates[i]
}

// moves reports whether slots of the days that are off move to other days.
func (d *openDays) moves() bool { return d != nil && d.shift != ElseSkip }

// word says why a day is off: it is not on the calendar, or it is.
func (d *openDays) word() string {
	if d.not {
		return "is on " + d.name
	}
	return "is not on " + d.name
}

// Off says why c is off on the day of t in the zone of t, such as "2026-12-25 is not on nyse". It returns "" if c is on. A mistake
// in c makes it on.
func (c *Calendar) Off(t time.Time) string {
	p := &parser{}
	d := p.openDays(c)
	year, month, day := t.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
	if len(p.reasons) == 0 && !d.on(floorDiv(midnight, secondsPerDay)) {
		return t.Format(time.DateOnly) + " " + d.word()
	}
	return ""
}

// calendar parses the calendar of a Spec. A nil calendar has every day.
func (p *parser) calendar(s *Schedule, spec Spec, gap Gap, fold Fold) {
	c := spec.Calendar
	if c == nil {
		return
	}
	d := p.openDays(c)
	d.gap, d.fold = gap, fold
	if spec.Every != 0 && d.moves() {
		p.refuse(Error{"calendar.else", -1, string(c.Else), "needs a time of day, and every has none",
			"use else: skip, or schedule instead of every"})
	}
	s.days = d
}

func (p *parser) openDays(c *Calendar) *openDays {
	d := &openDays{name: c.Name, not: c.Not}
	d.shift = policy(p, "calendar.else", c.Else, Elses())
	for i, text := range c.Weekdays {
		set, ok := weekdaysOf(text)
		if !ok {
			p.refuse(Error{"calendar.weekdays", i, text, "is not a day of the week", "such as mon or mon-fri"})
		}
		d.weekdays |= set
	}
	d.dates = p.dates("calendar.dates", c.Dates)
	d.except = p.dates("calendar.except", c.Except)
	return d
}

// weekdaysOf returns the days of a name such as mon, or of a range such as fri-mon.
func weekdaysOf(text string) (set bitset, ok bool) {
	from, to, isRange := strings.Cut(strings.ToUpper(text), "-")
	if !isRange {
		to = from
	}
	low, high := strings.Index(weekdayNames, from), strings.Index(weekdayNames, to)
	if len(from) != 3 || len(to) != 3 || low%3 != 0 || high%3 != 0 {
		return 0, false
	}
	for day := low / 3; ; day = (day + 1) % 7 {
		set |= 1 << day
		if day == high/3 {
			return set, true
		}
	}
}

// Off says why the job has no slots of its own on the day of an instant, and where slots of that day move; "" if the day is on.
func (s *Schedule) Off(at time.Time) string {
	day, _ := s.dayAt(s.clamp(at))
	if s.days.on(day) {
		return ""
	}
	return s.off(day)
}

// off does the same as Off for a day that is off.
func (s *Schedule) off(day int64) string {
	text := dateText(day) + " " + s.days.word()
	switch target, found := s.target(day); {
	case !s.days.moves():
		return text + "; its slots are skipped"
	case !found:
		return text + "; its slots are skipped, because the job runs on none of the 31 days to which they could move"
	default:
		return text + "; its slots move to " + dateText(target) + s.jumpNote(day, target)
	}
}

func dateText(day int64) string { return time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly) }
