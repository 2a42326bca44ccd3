package importer_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cronLine is an expression of cron that a test reads without the code of rota.
type cronLine struct {
	zone                          *time.Location
	minute, hour, dom, month, dow []int
	bothDays                      bool // a day must match both fields of days; otherwise either one
}

var nicknames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@minutely": "* * * * *", "@yearly": "0 0 1 1 *", "@weekly": "0 0 * * 0",
}

// parseCron reads an expression with five fields, or with six that begin with second 0. unrestricted reports whether a field of days
// leaves the choice of the day to the other one.
func parseCron(t *testing.T, expr, zone string, unrestricted func(field string) bool) (c cronLine) {
	t.Helper()
	if long, ok := nicknames[expr]; ok {
		expr = long
	}
	f := strings.Fields(strings.ToLower(expr))
	if len(f) == 6 && f[0] == "0" {
		f = f[1:]
	}
	if len(f) != 5 {
		t.Fatalf("the test cannot read %q", expr)
	}
	var err error
	if c.zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	const months, weekdays = "jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat"
	c.minute, c.hour = cronValues(t, f[0], 0, 59, ""), cronValues(t, f[1], 0, 23, "")
	c.dom, c.month, c.dow = cronValues(t, f[2], 1, 31, ""), cronValues(t, f[3], 1, 12, months), cronValues(t, f[4], 0, 7, weekdays)
	if slices.Contains(c.dow, 7) {
		c.dow = append(c.dow, 0)
	}
	c.bothDays = unrestricted(f[2]) || unrestricted(f[4])
	return c
}

func cronValues(t *testing.T, field string, low, high int, names string) (values []int) {
	t.Helper()
	number := func(text string) int {
		if i := slices.Index(strings.Fields(names), text); i >= 0 {
			return low + i
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("the test cannot read %q", field)
		}
		return n
	}
	for part := range strings.SplitSeq(field, ",") {
		part, step, stepped := strings.Cut(part, "/")
		from, to, ranged := strings.Cut(part, "-")
		first, last, by := low, high, 1
		if from != "*" {
			first = number(from)
			last = first
		}
		if ranged {
			last = number(to)
		}
		if stepped {
			by = number(step)
		}
		for v := first; v <= last; v += by {
			values = append(values, v)
		}
	}
	return values
}

// next returns the first n instants after from at which a clock in the zone shows a time of the expression.
func (c cronLine) next(from time.Time, n int) (slots []time.Time) {
	for at := from.Truncate(time.Minute).Add(time.Minute); len(slots) < n; {
		wall := at.In(c.zone)
		dom, dow := slices.Contains(c.dom, wall.Day()), slices.Contains(c.dow, int(wall.Weekday()))
		day := dom && dow || !c.bothDays && (dom || dow)
		if !day || !slices.Contains(c.month, int(wall.Month())) || !slices.Contains(c.hour, wall.Hour()) {
			at = at.Add(time.Duration(60-wall.Minute()) * time.Minute)
			continue
		}
		if slices.Contains(c.minute, wall.Minute()) {
			slots = append(slots, at)
		}
		at = at.Add(time.Minute)
	}
	return slots
}
