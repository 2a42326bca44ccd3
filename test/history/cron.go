package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNotHere says that parseCron leaves the expression to package schedule.
var errNotHere = errors.New("not computed here")

// cron is an expression, with the values that each field accepts.
type cron struct {
	second, minute, hour, day, month, weekday map[int]bool
	anyDay, anyWeekday                        bool
	elapsing                                  bool // its minute or its hour is a star, so it follows elapsed time
	step                                      time.Duration
}

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

func parseCron(text string) (c cron, err error) {
	if full, ok := macros[strings.ToLower(text)]; ok {
		text = full
	}
	fields := strings.Fields(strings.ToUpper(text))
	if len(fields) == 0 || strings.HasPrefix(fields[0], "@") {
		return c, errNotHere
	}
	c.step = time.Second
	if len(fields) == 5 {
		fields, c.step = append([]string{"0"}, fields...), time.Minute
	}
	if len(fields) != 6 {
		return c, fmt.Errorf("%d fields", len(fields))
	}
	months := strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")
	days := strings.Fields("SUN MON TUE WED THU FRI SAT")
	for i, f := range []struct {
		set      *map[int]bool
		low, top int
		names    []string
	}{{&c.second, 0, 59, nil}, {&c.minute, 0, 59, nil}, {&c.hour, 0, 23, nil}, {&c.day, 1, 31, nil}, {&c.month, 1, 12, months}, {&c.weekday, 0, 7, days}} {
		if *f.set, err = parseField(fields[i], f.low, f.top, f.names); err != nil {
			return c, err
		}
	}
	if c.weekday[7] {
		c.weekday[0] = true
	}
	// A cron expression has two fields of days. As in Vixie cron, a time must match both fields if one of them begins with a
	// star, also with a step.
	star := func(s string) bool { return strings.HasPrefix(s, "*") || strings.HasPrefix(s, "?") }
	c.anyDay, c.anyWeekday = star(fields[3]), star(fields[5])
	c.elapsing = strings.HasPrefix(fields[1], "*") || strings.HasPrefix(fields[2], "*")
	return c, nil
}

// parseField parses a star, or a list of numbers, names and ranges, each with or without a step.
func parseField(text string, low, top int, names []string) (map[int]bool, error) {
	set := make(map[int]bool)
	number := func(s string) (int, error) {
		if i := slices.Index(names, s); i >= 0 {
			return i + low, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > top {
			return 0, errNotHere
		}
		return n, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return nil, errNotHere
			}
			step = n
		}
		from, to := low, top
		if part != "*" && part != "?" {
			first, last, isRange := strings.Cut(part, "-")
			var err error
			if from, err = number(first); err != nil {
				return nil, err
			}
			switch {
			case isRange:
				if to, err = number(last); err != nil || to < from {
					return nil, errNotHere
				}
			case !stepped:
				to = from
			default:
				return nil, errNotHere // the meaning of 5/10 differs between dialects
			}
		} else if strings.Contains(text, ",") {
			return nil, errNotHere
		} else if top == 7 {
			to = 6 // Sunday counts once
		}
		for n := from; n <= to; n += step {
			set[n] = true
		}
	}
	return set, nil
}

// matches reports whether the expression accepts a wall clock time. The zone does not matter.
func (c *cron) matches(wall time.Time) bool {
	day, weekday := c.day[wall.Day()], c.weekday[int(wall.Weekday())]
	onDay := day && weekday
	if !c.anyDay && !c.anyWeekday {
		onDay = day || weekday
	}
	return onDay && c.second[wall.Second()] && c.minute[wall.Minute()] && c.hour[wall.Hour()] && c.month[int(wall.Month())]
}

// slots checks every minute, or every second if the expression has seconds. If the expression follows elapsed time, slots
// checks the minutes that pass. Otherwise it checks the minutes of the calendar, including those that the clocks of the zone
// skip.
func (c *cron) slots(zone *time.Location, gap, fold string, after, until time.Time) (found []time.Time) {
	if c.elapsing {
		for at := after.Truncate(c.step); !at.After(until); at = at.Add(c.step) {
			if c.matches(at.In(zone)) {
				found = append(found, at)
			}
		}
		return found
	}
	const most = 27 * time.Hour // the most that a wall clock differs from UTC, including a jump
	for civil := after.Add(-most).UTC().Truncate(c.step); !civil.After(until.Add(most)); civil = civil.Add(c.step) {
		if !c.matches(civil) {
			continue
		}
		shown, jumped := instants(civil, zone)
		switch {
		case len(shown) == 0 && gap == "run":
			found = append(found, jumped)
		case len(shown) == 0:
		case fold == "both":
			found = append(found, shown...)
		case fold == "last":
			found = append(found, shown[len(shown)-1])
		default:
			found = append(found, shown[0])
		}
	}
	return found
}

// instants returns, sorted, the instants at which the clocks of a zone show the time civil. If the clocks jump over this time,
// shown is empty. jumped is then the instant that the clocks would call civil if they had not jumped.
func instants(civil time.Time, zone *time.Location) (shown []time.Time, jumped time.Time) {
	for h := -27; h <= 27; h++ {
		_, offset := civil.Add(time.Duration(h) * time.Hour).In(zone).Zone()
		at := civil.Add(-time.Duration(offset) * time.Second)
		if at.In(zone).Format(time.DateTime) == civil.Format(time.DateTime) {
			shown = append(shown, at)
		}
		if at.After(jumped) {
			jumped = at
		}
	}
	slices.SortFunc(shown, time.Time.Compare)
	return slices.CompactFunc(shown, time.Time.Equal), jumped
}
