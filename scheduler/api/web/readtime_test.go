package web

import (
	"testing"
	"time"
)

func TestFieldsAcceptTheTimesOfThePage(t *testing.T) {
	want := time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC)
	for _, text := range []string{
		timeExample, "2026-01-31T03:30:00+01:00", "2026-01-31 02:30:00 UTC", " 2026-01-31 02:30 ", "2026-01-31 02:30 UTC",
		"2026-01-31T02:30", "2026-01-31 02:30:00",
	} {
		if got, err := readTime(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "now", "02:30", "2026-01-31", "31.01.2026 02:30", "2026-01-31 02:30 CET", "2026-02-31 02:30",
		"0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
	} {
		if got, err := readTime(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	for text, want := range map[string]string{"now": "", "Now": "", "": "", "90s": "90s", "soon": "soon"} {
		f := form{Fields: []field{{Name: startField.Name, Value: text}}}
		if in, at := f.start(); in != want || at != nil {
			t.Errorf("start %q: got %q, %v, want %q", text, in, at, want)
		}
	}
}
