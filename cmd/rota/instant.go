package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

const day = 24 * time.Hour

// stamp formats an instant as rota does everywhere: RFC 3339, UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// relative formats the distance of an instant from now: "in 3m", "2s ago", "now".
func relative(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d == math.MaxInt64: // a Duration ends after 292 years
		return fmt.Sprintf("in %dy", t.Year()-now.Year())
	case d == math.MinInt64:
		return fmt.Sprintf("%dy ago", now.Year()-t.Year())
	case d >= time.Second:
		return "in " + roughly(d)
	case d <= -time.Second:
		return roughly(-d) + " ago"
	}
	return "now"
}

// roughly formats a time span in its largest unit, rounded down.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 2*365*day:
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dy", d/(365*day))
}

// formatDuration formats a duration with about three digits.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s" // the duration is negative: the clocks of two machines differ
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return job.Duration(d).String()
}

// parseSpan reads a time span that is not negative.
func parseSpan(text string) (time.Duration, error) {
	if d, err := job.ParseSpan(text); err == nil && d >= 0 {
		return d, nil
	}
	if isNegative(text) {
		return 0, usageError{fmt.Sprintf("the time span %s is negative", text), "leave the minus sign out"}
	}
	return 0, usageError{fmt.Sprintf("%q is not a time span", text), "write it with a unit, for example 90s, 2h or 7d"}
}

// isNegative reports whether a text is a time span with a minus sign.
func isNegative(text string) bool {
	positive, ok := strings.CutPrefix(text, "-")
	if !ok {
		return false
	}
	_, err := parseSpan(positive)
	return err == nil
}

// spanFlag is the value of a flag that parseSpan reads.
type spanFlag time.Duration

// addSpan adds a flag with a time span.
func addSpan(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*spanFlag)(to), name, usage)
}

// Set implements pflag.Value.
func (f *spanFlag) Set(s string) error {
	d, err := parseSpan(s)
	switch {
	case isNegative(s):
		return errors.New("it must not be negative")
	case err != nil:
		return errors.New("it is not a time span: write it with a unit, for example 90s, 2h or 7d")
	}
	*f = spanFlag(d)
	return nil
}

// String implements pflag.Value. pflag does not show a default of "0".
func (f *spanFlag) String() string {
	if *f == 0 {
		return "0"
	}
	return time.Duration(*f).String()
}

// Type implements pflag.Value.
func (f *spanFlag) Type() string { return "duration" }

// wallLayouts are the accepted forms of a time without a zone.
var wallLayouts = []string{
	"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly,
}

// clockTime reads a time of day, and returns it on the day of now in zone. It returns false for another text.
func clockTime(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			year, month, day := now.In(zone).Date()
			first, _ := schedule.Wall(time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC), zone)
			return first, true
		}
	}
	return time.Time{}, false
}

// parseInstant reads a time: RFC 3339, "now", "2h ago", "in 10m", a time of today, or a wall time in zone. If a change of the
// clock repeats that time, it is the first one. If the clock jumps over it, it is as much later. Fixed times of cron
// expressions run then, too.
func parseInstant(text string, now time.Time, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "now" {
		return now, nil
	}
	if back := slices.Index([]string{"today", "yesterday"}, text); back >= 0 {
		year, month, day := now.In(zone).Date()
		first, _ := schedule.Wall(time.Date(year, month, day-back, 0, 0, 0, 0, time.UTC), zone)
		return first, nil
	}
	if today, ok := clockTime(text, now, zone); ok {
		return today, nil
	}
	if span, ok := strings.CutSuffix(text, " ago"); ok {
		if d, err := parseSpan(span); err == nil {
			return now.Add(-d), nil
		}
	}
	if span, ok := strings.CutPrefix(text, "in "); ok {
		if d, err := parseSpan(span); err == nil {
			return now.Add(d), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range wallLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			first, _ := schedule.Wall(t, zone)
			return first, nil
		}
	}
	return time.Time{}, usageError{fmt.Sprintf("%q is not a time", text),
		`write it as 2026-01-31T02:30:00Z, "2026-01-31 02:30", 02:30, now, today, "2h ago" or "in 10m"`}
}

// loadZone returns a time zone by its IANA name, UTC for "".
func loadZone(name string) (*time.Location, error) {
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return nil, usageError{fmt.Sprintf("%q %v", name, err), "use an IANA name, such as Europe/Berlin"}
	}
	return zone, nil
}
