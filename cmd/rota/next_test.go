package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// runHere runs a command line in this process, at a fixed time.
func runHere(environ []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	now := func() time.Time { return time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC) }
	c := &cli{in: bytes.NewReader(nil), out: &out, err: &err, now: now, environ: environ}
	code = c.run(context.Background(), args)
	return code, out.String(), err.String()
}

func TestNextReportsAnExpressionThatNeverFires(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"0 0 30 2 *", "-o", "json"},
			"{\n  \"slots\": [],\n  \"notes\": [\n    \"never fires: there is no such day in any year\"\n  ]\n}\n"},
		{[]string{"0 0 31 4 *", "--timezone", "Europe/Berlin"}, "note: never fires: there is no such day in any year\n"},
	} {
		code, out, err := runHere(nil, append([]string{"next"}, tc.args...)...)
		if code != exitOK || out != tc.want || err != "" {
			t.Errorf("next %q: got %d, %q, %q; want 0, %q", tc.args, code, out, err, tc.want)
		}
	}
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"0 0 30 2 *", "--timezone", "Europe/Berlln"}, exitUsage}, // the command line has two mistakes
		{[]string{"61 * * * *", "--timezone", "Europe/Berlln"}, exitBadConfig},
		{[]string{"61 * * * *"}, exitBadConfig},
	} {
		if code, out, _ := runHere(nil, append([]string{"next"}, tc.args...)...); code != tc.want || out != "" {
			t.Errorf("next %q: got %d, %q; want %d", tc.args, code, out, tc.want)
		}
	}
}

func TestNextWarnsUpToItsLastSlot(t *testing.T) {
	code, out, _ := runHere(nil, "next", "30 2 26 3 *", "--timezone", "Europe/Berlin", "-n", "3")
	if want := "note: 2028-03-26: the clock in Europe/Berlin goes from 02:00 to 03:00"; code != exitOK || !strings.Contains(out, want) {
		t.Errorf("got %d, %q; want a line %q", code, out, want)
	}
}

func TestNextWarnsOfMisreadExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		"H H * * *":      "note: H depends on the job's name",
		"0 30 2 ? * 2-6": "note: day of week: 1 is Monday",
	} {
		if code, out, _ := runHere(nil, "next", expression); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("next %q: got %d, %q; want a line %q", expression, code, out, want)
		}
	}
}
