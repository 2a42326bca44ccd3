package schedule

import (
	"strings"

	cron "github.com/netresearch/go-cron"
)

// fields is a cron expression as sets of matching wall-clock values.
type fields struct {
	second, minute, hour bitset
	days                 days
	firstSecond          int64 // the earliest matching second of every matching day
}

// days is the set of matching days.
type days struct {
	month, dom, dow bitset
	domRules        []cron.DomConstraint // L, L-3, LW, 15W, which depend on the month
	dowRules        []cron.DowConstraint // FRI#2, FRI#L
	either          bool                 // both day of month and day of week are restricted, and one match is enough
	both            bool                 // both are restricted, and a day must match both, because one begins with *
}

// beginsWithStar reports whether a field of days begins with a star. When Vixie cron combines the two fields, it treats such a
// field as unrestricted, even with a step.
func beginsWithStar(field string) bool {
	return strings.HasPrefix(field, "*") || strings.HasPrefix(field, "?")
}

// newFields returns the sets of an expression. domStar and dowStar say which fields of days begin with a star.
func newFields(s *cron.SpecSchedule, domStar, dowStar bool) *fields {
	const star = bitset(1) << 63 // the library's mark of an unrestricted field
	dom, dow := bitset(s.Dom), bitset(s.Dow)
	restricted := dom&star == 0 && dow&star == 0
	f := &fields{
		second: bitset(s.Second) &^ star,
		minute: bitset(s.Minute) &^ star,
		hour:   bitset(s.Hour) &^ star,
		days: days{
			month:    bitset(s.Month) &^ star,
			dom:      dom &^ star,
			dow:      dow &^ star,
			domRules: s.DomConstraints,
			dowRules: s.DowConstraints,
			either:   restricted && !domStar && !dowStar,
			both:     restricted && (domStar || dowStar),
		},
	}
	f.firstSecond, _ = f.secondFrom(0)
	return f
}

// next returns the first matching wall time after wall, or false if no year has a matching day.
func (f *fields) next(wall int64) (int64, bool) {
	day, second := dayOf(wall + 1)
	year, month, dom := date(day)
	matching := f.days.in(year, month)
	if matching.has(dom) {
		if s, ok := f.secondFrom(int(second)); ok {
			return day*secondsPerDay + s, true
		}
	}
	dom++
	// The search covers the cycle and one more month, because it starts in the middle of the first month.
	for range calendarMonths + 1 {
		if d := matching.from(dom); d > 0 {
			return dayNumber(year, month, d)*secondsPerDay + f.firstSecond, true
		}
		if month = f.days.month.from(month + 1); month < 0 {
			month = f.days.month.from(1)
			year++
		}
		matching, dom = f.days.in(year, month), 1
	}
	return 0, false
}

// secondFrom returns the first matching second of a day at or after second.
func (f *fields) secondFrom(second int) (int64, bool) {
	h, m, s := second/3600, second/60%60, second%60
	if f.hour.has(h) {
		if f.minute.has(m) {
			if s = f.second.from(s); s >= 0 {
				return int64(h*3600 + m*60 + s), true
			}
		}
		if m = f.minute.from(m + 1); m >= 0 {
			return int64(h*3600 + m*60 + f.second.from(0)), true
		}
	}
	if h = f.hour.from(h + 1); h >= 0 {
		return int64(h*3600 + f.minute.from(0)*60 + f.second.from(0)), true
	}
	return 0, false
}

// in returns the matching days of a month.
func (d *days) in(year, month int) bitset {
	if !d.month.has(month) {
		return 0
	}
	n := daysIn(year, month)
	first := weekday(dayNumber(year, month, 1))
	all := bitset(1)<<uint(n+1) - 2 // bits 1 to n

	dom := d.dom
	for _, c := range d.domRules {
		dom |= domRule(c, n, first)
	}
	// The week, rotated so that bit 0 is the weekday of the 1st, and repeated over the month.
	week := (d.dow | d.dow<<7) >> uint(first) & 0x7f
	dow := (week | week<<7 | week<<14 | week<<21 | week<<28) << 1
	for _, c := range d.dowRules {
		dow |= dowRule(c, n, first)
	}
	if d.either {
		return (dom | dow) & all
	}
	return dom & dow & all
}

// domRule returns the day that c names in a month of n days whose 1st is the weekday first, or the empty set.
func domRule(c cron.DomConstraint, n, first int) bitset {
	on := func(dom int) int { return (first + dom - 1) % 7 }
	day := n
	switch c.Type {
	case cron.DomLast:
	case cron.DomLastOffset:
		day = n - c.N
	case cron.DomLastWeekday, cron.DomNearestWeekday:
		if c.Type == cron.DomNearestWeekday {
			day = c.N
		}
		// The nearest weekday in the same month.
		switch {
		case day > n:
			return 0
		case on(day) == 6 && day > 1:
			day--
		case on(day) == 6:
			day += 2
		case on(day) == 0 && day < n:
			day++
		case on(day) == 0:
			day -= 2
		}
	}
	if day < 1 {
		return 0
	}
	return 1 << uint(day)
}

// dowRule does the same as domRule, for the nth or the last occurrence of a weekday.
func dowRule(c cron.DowConstraint, n, first int) bitset {
	day := 1 + (c.Weekday-first+7)%7
	if c.N > 0 {
		day += 7 * (c.N - 1)
	} else {
		day += (n - day) / 7 * 7
	}
	if day > n {
		return 0
	}
	return 1 << uint(day)
}
