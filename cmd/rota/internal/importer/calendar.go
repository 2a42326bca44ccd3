package importer

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// calendar is an OnCalendar expression of systemd. Its parts are in the form of cron's fields.
type calendar struct {
	weekdays, year, month, day string
	hour, minute, second       string
	zone                       string
}

var calendarWords = map[string]string{
	"minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
	"weekly": "Mon *-*-* 00:00:00", "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
	"quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": halfYears, "semi-annually": halfYears, "biannually": halfYears,
	"bi-annually": halfYears,
}

const halfYears = "*-01,07-01 00:00:00"

const weekdayName = `(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)`

var weekdayList = regexp.MustCompile(`(?i)^` + weekdayName + `(?:(?:\.\.|-|,)` + weekdayName + `)*,?$`)

// parseCalendar reads an OnCalendar expression. It refuses an expression that cron cannot express.
func parseCalendar(text string) (calendar, error) {
	c := calendar{weekdays: "*", year: "*", month: "*", day: "*", hour: "0", minute: "0", second: "0"}
	words := strings.Fields(text)
	if n := len(words); n > 1 && isZone(words[n-1]) {
		c.zone, words = words[n-1], words[:n-1]
		if strings.EqualFold(c.zone, "UTC") {
			c.zone = "UTC"
		}
	}
	if len(words) == 1 {
		if long, ok := calendarWords[strings.ToLower(words[0])]; ok {
			words = strings.Fields(long)
		}
	}
	seen := 0 // how many kinds of words have passed: systemd reads weekdays, a date and a time in this order
	for _, word := range words {
		kind, read := 2, c.date
		switch {
		case weekdayList.MatchString(word):
			kind, read = 1, c.weekday
		case strings.Contains(word, ":"):
			kind, read = 3, c.time
		}
		if kind <= seen {
			return calendar{}, refused(word)
		}
		if err := read(word); err != nil {
			return calendar{}, err
		}
		seen = kind
	}
	return c, c.combine()
}

// zoneName matches a name that a time zone may have. A date such as 1/2-* and a time have other characters.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/_+-]*$`)

// isZone reports whether the last word of an expression is a time zone, such as Europe/Berlin or CET.
func isZone(word string) bool {
	if !zoneName.MatchString(word) || weekdayList.MatchString(word) {
		return false
	}
	_, err := schedule.LoadZone(word)
	return strings.EqualFold(word, "UTC") || strings.Contains(word, "/") || err == nil
}

// refused is the error for a part that systemd does not read. systemd ignores such a line.
func refused(part string) error { return fmt.Errorf("systemd refuses %q and ignores the line", part) }

const weekdayOrder = "montuewedthufrisatsun"

func (c *calendar) weekday(word string) error {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ToLower(word), ","), ",") {
		days := strings.FieldsFunc(part, func(c rune) bool { return c == '.' || c == '-' })
		for i := range days {
			days[i] = days[i][:3]
			if i > 0 && strings.Index(weekdayOrder, days[i]) < strings.Index(weekdayOrder, days[i-1]) {
				return refused(part)
			}
		}
		parts = append(parts, strings.Join(days, "-"))
	}
	c.weekdays = strings.Join(parts, ",")
	return nil
}

func (c *calendar) date(word string) (err error) {
	if month, day, ok := strings.Cut(word, "~"); ok { // days counted from the end of the month
		n, err := strconv.Atoi(day)
		if err != nil || n < 1 {
			return errors.New("days from the end of a month are read one by one")
		}
		if n > 28 { // some month does not have it
			return refused(day)
		}
		c.day = "L"
		if n > 1 {
			c.day = fmt.Sprintf("L-%d", n-1)
		}
		parts := strings.Split(month, "-")
		if len(parts) > 2 {
			return refused(word)
		}
		if c.month, err = field(parts[len(parts)-1], 12); err != nil {
			return err
		}
		if len(parts) == 2 {
			c.year = parts[0]
		}
		return nil
	}
	parts := strings.Split(word, "-")
	switch len(parts) {
	case 3:
		c.year, parts = parts[0], parts[1:]
	case 2:
	default:
		return fmt.Errorf("%q is neither weekdays, a date nor a time", word)
	}
	if c.month, err = field(parts[0], 12); err != nil {
		return err
	}
	c.day, err = field(parts[1], 31)
	return err
}

func (c *calendar) time(word string) (err error) {
	parts := strings.Split(word, ":")
	if len(parts) > 3 {
		return fmt.Errorf("%q is no time", word)
	}
	if c.hour, err = field(parts[0], 23); err != nil {
		return err
	}
	if c.minute, err = field(parts[1], 59); err != nil {
		return err
	}
	if len(parts) == 3 {
		c.second, err = field(parts[2], 59)
		for part := range strings.SplitSeq(parts[2], ",") { // systemd refuses a range of one second, unlike one of one minute
			if from, to, ok := strings.Cut(part, ".."); ok && strings.TrimLeft(from, "0") == strings.TrimLeft(to, "0") {
				return refused(part)
			}
		}
	}
	return err
}

var component = regexp.MustCompile(`^(\d+)(?:\.\.(\d+))?(?:/(\d+))?$`)

// field converts a part of a date or time into cron's form. high is the greatest value of the part.
func field(text string, high int) (string, error) {
	if text == "*" {
		return text, nil
	}
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		m := component.FindStringSubmatch(part)
		switch {
		case strings.HasPrefix(part, "*"): // systemd has neither */15 nor a list with *
			return "", refused(part)
		case m == nil:
			return "", fmt.Errorf("%q has no counterpart in cron", part)
		}
		from, to, step := cmp.Or(strings.TrimLeft(m[1], "0"), "0"), strings.TrimLeft(m[2], "0"), m[3]
		begin, _ := strconv.Atoi(m[1])
		if end, err := strconv.Atoi(m[2]); err == nil && end < begin {
			return "", refused(part)
		} else if every, _ := strconv.Atoi(step); err != nil && begin+every > high {
			return "", refused(part)
		}
		switch {
		case m[2] != "" && step != "":
			from += "-" + to + "/" + step
		case m[2] != "":
			from += "-" + to
		case step != "":
			from += fmt.Sprintf("-%d/%s", high, step)
		}
		parts = append(parts, from)
	}
	return strings.Join(parts, ","), nil
}

// weeks are ranges of days of a month. Each weekday comes at most once in a range.
var weeks = map[string]string{"1-7": "1", "8-14": "2", "15-21": "3", "22-28": "4", "29-31": "5"}

// combine checks weekday and day of month. In systemd both must match, and in cron one of them is enough.
func (c *calendar) combine() error {
	if c.weekdays == "*" || c.day == "*" {
		return nil
	}
	week, ok := weeks[c.day]
	if !ok || strings.Contains(c.weekdays, "-") {
		return errors.New("cron cannot require both a weekday and a day of the month, except the first to fifth of a weekday")
	}
	var parts []string
	for day := range strings.SplitSeq(c.weekdays, ",") {
		parts = append(parts, day+"#"+week)
	}
	c.weekdays, c.day = strings.Join(parts, ","), "*"
	return nil
}

// instant returns the time of an expression that has only one; zero if that time never comes. It returns false for any other
// expression.
func (c *calendar) instant(zone string) (time.Time, bool) {
	var parts [6]int
	for i, text := range []string{c.year, c.month, c.day, c.hour, c.minute, c.second} {
		n, err := strconv.Atoi(text)
		if err != nil {
			return time.Time{}, false
		}
		parts[i] = n
	}
	location, err := schedule.LoadZone(zone)
	if err != nil || c.weekdays != "*" {
		return time.Time{}, false
	}
	switch year := parts[0]; { // as systemd reads two digits
	case year < 70:
		parts[0] += 2000
	case year < 100:
		parts[0] += 1900
	}
	at := time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], 0, location)
	if at.Day() != parts[2] || at.Hour() != parts[3] || at.Minute() != parts[4] { // 30 February, or the clock jumps over it
		return time.Time{}, true
	}
	return at, true
}

// cron returns the cron expression.
func (c *calendar) cron() string {
	fields := []string{c.minute, c.hour, c.day, c.month, c.weekdays}
	if c.second != "0" {
		fields = append([]string{c.second}, fields...)
	}
	return strings.Join(fields, " ")
}
