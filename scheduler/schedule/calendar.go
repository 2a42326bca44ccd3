package schedule

import "math/bits"

const (
	secondsPerDay = 24 * 60 * 60
	// calendarMonths is the length of the Gregorian cycle: days and weekdays repeat exactly after it.
	calendarMonths = 400 * 12
)

// Days are counted from 1970-01-01, and wall times in seconds since its midnight, as if every zone were UTC.

// dayOf returns the day of a wall time and the seconds since that day's midnight.
func dayOf(wall int64) (day, second int64) {
	day = floorDiv(wall, secondsPerDay)
	return day, wall - day*secondsPerDay
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// weekday returns 0 for Sunday to 6 for Saturday.
func weekday(day int64) int {
	w := (day + 4) % 7 // 1970-01-01 was a Thursday
	if w < 0 {
		w += 7
	}
	return int(w)
}

// dayNumber returns the day of a date. Like date, it follows Howard Hinnant's "chrono-compatible low-level date algorithms",
// in which a year starts in March, so that the leap day comes last.
func dayNumber(year, month, dom int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yearOfEra := y - era*400
	dayOfYear := (153*(m-3)+2)/5 + int64(dom) - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return era*146097 + dayOfEra - 719468
}

// date returns the date of a day. It is the inverse of dayNumber.
func date(day int64) (year, month, dom int) {
	day += 719468
	era := floorDiv(day, 146097)
	dayOfEra := day - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	dom = int(dayOfYear - (153*m+2)/5 + 1)
	year = int(yearOfEra + era*400)
	if m += 3; m > 12 {
		m -= 12
		year++
	}
	return year, int(m), dom
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// bitset holds small numbers, up to 63.
type bitset uint64

func (b bitset) has(n int) bool { return b>>uint(n)&1 != 0 }

// from returns the smallest member that is n or more, or -1.
func (b bitset) from(n int) int {
	rest := b >> uint(n) << uint(n)
	if rest == 0 {
		return -1
	}
	return bits.TrailingZeros64(uint64(rest))
}
