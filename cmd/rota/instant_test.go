package main

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRelative(t *testing.T) {
	for _, tc := range []struct {
		away time.Duration
		want string
	}{
		{0, "now"},
		{999 * time.Millisecond, "now"},
		{-999 * time.Millisecond, "now"},
		{time.Second, "in 1s"},
		{-2 * time.Second, "2s ago"},
		{3*time.Minute + 59*time.Second, "in 3m"},
		{-47 * time.Hour, "47h ago"},
		{48 * time.Hour, "in 2d"},
		{-800 * day, "2y ago"},
	} {
		if got := relative(noon.Add(tc.away), noon); got != tc.want {
			t.Errorf("relative(now%+v): got %q, want %q", tc.away, got, tc.want)
		}
	}
	for year, want := range map[int]string{0: "2026y ago", 9999: "in 7973y"} { // beyond the range of a duration
		if got := relative(time.Date(year, 11, 21, 0, 0, 0, 0, time.UTC), noon); got != want {
			t.Errorf("relative(year %d): got %q, want %q", year, got, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                          "0s",
		0:                                     "0s",
		1234567 * time.Nanosecond:             "1ms",
		1234 * time.Millisecond:               "1.2s",
		90*time.Second + 400*time.Millisecond: "1m30s",
		2 * time.Hour:                         "2h",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestParseInstant(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"now":                       "2026-11-21T12:00:00Z",
		"2h ago":                    "2026-11-21T10:00:00Z",
		"1d ago":                    "2026-11-20T12:00:00Z",
		"in 10m":                    "2026-11-21T12:10:00Z",
		" 2026-01-31T02:30:00Z ":    "2026-01-31T02:30:00Z",
		"2026-01-31T02:30:00+01:00": "2026-01-31T01:30:00Z",
		"2026-01-31 02:30":          "2026-01-31T01:30:00Z",
		"2026-07-31T02:30:15":       "2026-07-31T00:30:15Z",
		"2026-01-31":                "2026-01-30T23:00:00Z",
		"10:50":                     "2026-11-21T09:50:00Z", // of today
		"23:50:05":                  "2026-11-21T22:50:05Z",
	} {
		got, err := parseInstant(text, noon, berlin)
		if err != nil || stamp(got) != want {
			t.Errorf("parseInstant(%q): got %v, %v, want %s", text, got, err, want)
		}
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{ // jobs run at these instants, too
		"2027-03-14 02:30": "2027-03-14T07:30:00Z", // the clock jumps over it
		"2027-11-07 01:30": "2027-11-07T05:30:00Z", // the clock shows it twice
	} {
		if got, err := parseInstant(text, noon, newYork); err != nil || stamp(got) != want {
			t.Errorf("parseInstant(%q): got %v, %v, want %s", text, got, err, want)
		}
	}
	if got, err := parseInstant("2027-10-31 02:30", noon, berlin); err != nil || stamp(got) != "2027-10-31T00:30:00Z" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "ago", " ago", "2 hours ago", "-2h ago", "in", "tomorrow", "2026-13-01", "24:00", "12"} {
		if got, err := parseInstant(text, noon, berlin); err == nil {
			t.Errorf("parseInstant(%q): got %v, want an error", text, got)
		}
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day, "0.5d": 12 * time.Hour, "0s": 0} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("parseSpan(%q): got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "-1h", "-1d", "NaNd", "1e9d", "soon"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("parseSpan(%q): got %v, want an error", text, got)
		}
	}
}

// A flag takes days where a job file does.
func TestAFlagTakesDays(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"pki", "init", "--dir", dir}, {"pki", "issue", "q1", "--role", "replica", "--dir", dir, "--life", "365d"},
		{"next", "--every", "1d"},
	} {
		if code, _, stderr := runHere(nil, args...); code != exitOK {
			t.Errorf("%v: got %d, %q", args, code, stderr)
		}
	}
	code, _, stderr := runHere(nil, "pki", "issue", "q1", "--role", "replica", "--dir", dir, "--life", "20y")
	if want := "it is not a time span: write it with a unit, for example 90s, 2h or 7d"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("got %d, %q, want %q in it", code, stderr, want)
	}
}
