package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Words describes when a job runs, for people: "every day at 02:30". It returns an expression unchanged if it has no short
// description.
func Words(s Spec) string {
	var parts []string
	switch {
	case s.Every > 0:
		parts = append(parts, "every "+spanWords(s.Every))
	case len(s.At) == 1:
		parts = append(parts, "once, at "+s.At[0].UTC().Format("2006-01-02 15:04:05")+" UTC")
	case len(s.At) > 1:
		parts = append(parts, fmt.Sprintf("at %d instants", len(s.At)))
	}
	for _, expression := range s.Cron {
		parts = append(parts, expressionWords(expression))
	}
	text := strings.Join(parts, "; ")
	if zone := s.Timezone; len(s.Cron) > 0 && zone != "" {
		text += ", " + zone
	}
	return text
}

func spanWords(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == unit.size:
			return unit.name
		case d > unit.size && d%unit.size == 0:
			return fmt.Sprintf("%d %ss", d/unit.size, unit.name)
		}
	}
	return d.String()
}

var descriptorWords = map[string]string{
	"@yearly": "every year, on January 1 at 00:00", "@annually": "every year, on January 1 at 00:00",
	"@monthly": "on day 1 of every month at 00:00", "@weekly": "every Sunday at 00:00",
	"@daily": "every day at 00:00", "@midnight": "every day at 00:00", "@hourly": "every hour, at minute 0",
}

// expressionWords describes one cron expression.
func expressionWords(text string) string {
	if words, ok := descriptorWords[strings.ToLower(text)]; ok {
		return words
	}
	f := strings.Fields(strings.ToUpper(text))
	if len(f) == 6 && f[0] == "0" {
		f = f[1:]
	}
	if len(f) != 5 {
		return "cron " + text
	}
	at, ok := timeWords(f[0], f[1])
	days, known := dayWords(f[2], f[3], f[4])
	if !ok || !known {
		return "cron " + text
	}
	clock := strings.HasPrefix(at, "at ")
	switch {
	case days == "" && clock:
		return "every day " + at
	case days == "":
		return at
	case clock:
		return days + " " + at
	}
	return days + ", " + at
}

// timeWords describes the fields of minutes and hours.
func timeWords(minute, hour string) (string, bool) {
	m, minuteErr := strconv.Atoi(minute)
	h, hourErr := strconv.Atoi(hour)
	from, to, hourRange := strings.Cut(hour, "-")
	first, firstErr := strconv.Atoi(from)
	last, lastErr := strconv.Atoi(to)
	step, stepped := strings.CutPrefix(minute, "*/")
	hours, hourStepped := strings.CutPrefix(hour, "*/")
	switch {
	case minuteErr == nil && hourErr == nil:
		return fmt.Sprintf("at %02d:%02d", h, m), true
	case minute == "*" && hour == "*":
		return "every minute", true
	case stepped && hour == "*" && divides(step, 60):
		return "every " + step + " minutes", true
	case minuteErr == nil && hour == "*":
		return fmt.Sprintf("every hour, at minute %d", m), true
	case minute == "H" && hour == "*":
		return "every hour, at a minute that the job's name decides", true
	case minute == "H" && hourErr == nil:
		return fmt.Sprintf("at %02d:00 or up to 59 minutes later, as the job's name decides", h), true
	case minuteErr == nil && hourStepped && divides(hours, 24):
		return fmt.Sprintf("every %s hours, at minute %d", hours, m), true
	case minuteErr == nil && hourRange && firstErr == nil && lastErr == nil:
		return fmt.Sprintf("every hour from %02d:%02d to %02d:%02d", first, m, last, m), true
	case minuteErr == nil && strings.Contains(hour, ","):
		var list []string
		for part := range strings.SplitSeq(hour, ",") {
			n, err := strconv.Atoi(part)
			if err != nil {
				return "", false
			}
			list = append(list, fmt.Sprintf("%02d:%02d", n, m))
		}
		return "at " + strings.Join(list, ", "), true
	}
	return "", false
}

// divides reports whether a step is more than 1 and divides the number of values. Otherwise the last period is shorter.
func divides(step string, values int) bool {
	n, err := strconv.Atoi(step)
	return err == nil && n > 1 && values%n == 0
}

func number(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

var (
	weekdayWords = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	monthWords   = []string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
		"November", "December"}
)

// dayWords describes the fields of days and months; "" if they match every day.
func dayWords(dom, of, dow string) (string, bool) {
	every := func(field string) bool { return field == "*" || field == "?" }
	switch {
	case every(dom) && of == "*" && every(dow):
		return "", true
	case every(dom) && of == "*":
		return weekdaysWords(dow)
	case !every(dow):
		return "", false
	}
	var day string
	switch {
	case dom == "L":
		day = "on the last day"
	case number(dom):
		day = "on day " + dom
	default:
		return "", false
	}
	d, _ := strconv.Atoi(dom) // 0 for the last day
	switch {
	case of == "*" && d > 28:
		return day + " of every month (shorter months have no slot)", true
	case of == "*":
		return day + " of every month", true
	}
	n, err := strconv.Atoi(of)
	if i := strings.Index(month.names(), of); err != nil && len(of) == 3 && i >= 0 && i%3 == 0 {
		n, err = i/3+1, nil
	}
	if err != nil || n < 1 || n > 12 || !number(dom) {
		return "", false
	}
	if n == 2 && d == 29 {
		return "every leap year, on February 29", true
	}
	return "every year, on " + monthWords[n] + " " + dom, true
}

func weekdaysWords(dow string) (string, bool) {
	one := func(text string) string {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 7 {
			return weekdayWords[n]
		}
		if i := strings.Index(weekdayNames, text); len(text) == 3 && i >= 0 && i%3 == 0 {
			return weekdayWords[i/3]
		}
		return ""
	}
	if from, to, ok := strings.Cut(dow, "-"); ok {
		first, last := one(from), one(to)
		return first + " to " + last, first != "" && last != ""
	}
	var list []string
	for part := range strings.SplitSeq(dow, ",") {
		name := one(part)
		if name == "" {
			return "", false
		}
		list = append(list, name)
	}
	return "every " + strings.Join(list, " and "), true
}
