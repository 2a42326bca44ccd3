package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestCalendars runs jobs on the days of an iCalendar file that lies beside each replica's job file. Mistakes in the file change
// nothing and have a place. A replica with an older calendar does not undo a newer one.
func TestCalendars(t *testing.T) {
	slow(t)
	t.Parallel()
	ledger := NewLedger(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	dates := []string{today.Format(time.DateOnly), today.AddDate(0, 0, 1).Format(time.DateOnly)} // the test may last past midnight
	every := job.Duration(time.Second)
	dir := t.TempDir()
	days := func(node string) string { return filepath.Join(dir, node, "days.ics") }
	names := []string{"q1", "q2", "q3"}
	text := fmt.Sprintf(`version: 1
calendars:
  days: {ics: days.ics}
jobs:
  open: {every: 1s, missed: all, calendar: {on: days}, shell: %q}
  closed: {every: 1s, missed: all, calendar: {not_on: days}, shell: %[1]q}
`, ledger.Shell(""))
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		replaceFile(t, filepath.Join(dir, name, "jobs.yaml"), text)
		replaceFile(t, days(name), calendarFile(dates...))
	}
	c := Start(t, Config{
		Binary: binary, Jobs: map[string]job.Spec{
			"open":   {Every: every, Missed: job.MissedAll, Calendar: &job.Calendar{On: "days", Dates: dates}, Shell: ledger.Shell("")},
			"closed": {Every: every, Missed: job.MissedAll, Calendar: &job.Calendar{NotOn: "days", Dates: dates}, Shell: ledger.Shell("")},
		},
		Flags: func(name string) []string { return []string{"--jobs=" + filepath.Join(dir, name)} },
	})
	server := "--server=" + c.Replicas()[0].URL
	rota := func(want int, args ...string) string {
		t.Helper()
		out, code := Command(t, binary, args...)
		if code != want {
			t.Errorf("%v: got code %d, want %d\n%s", args, code, want, out)
		}
		return out
	}
	inForce := func() string {
		j, err := c.Client.Job(t.Context(), "closed")
		if err != nil {
			return err.Error()
		}
		return strings.Join(j.Spec.Calendar.Dates, " ")
	}
	ran := func(name string) (n int) {
		for _, e := range ledger.Effects() {
			if e.Job == name {
				n++
			}
		}
		return n
	}
	Await(t, 20*time.Second, "the job that is open today runs", func() bool { return ran("open") >= 5 })
	rota(0, "check", filepath.Join(dir, "q1"))
	first := today.AddDate(0, 0, 2).Format(time.RFC3339)
	if out := rota(0, "next", "closed", server); !strings.Contains(out, first) {
		t.Errorf("next of a job that is closed today: got\n%s\nwant %s", out, first)
	}
	now := time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	if out := rota(0, "explain", "closed", now, server); !strings.Contains(out, dates[0]+" is on days; its slots are skipped") {
		t.Errorf("explain names no calendar:\n%s", out)
	}

	// Mistakes in the calendar change nothing.
	before := inForce()
	for want, bad := range map[string]string{
		"days.ics:5: does not end with END:VCALENDAR": strings.TrimSuffix(calendarFile(dates[0]), "END:VCALENDAR\n"),
		"days.ics: is larger than 1 MiB":              calendarFile(dates[0]) + strings.Repeat("\n", 1<<20),
		"days.ics:1: does not begin with":             "<html>sign in</html>",
	} {
		for _, name := range names {
			replaceFile(t, days(name), bad)
		}
		if out := rota(exitBadConfig, "check", filepath.Join(dir, "q1")); !strings.Contains(out, want) || !strings.Contains(out, "hint: ") {
			t.Errorf("check of a bad calendar: got\n%s\nwant %s and a hint", out, want)
		}
		Await(t, 20*time.Second, "each replica reports the mistake", func() bool { return strings.Count(c.notes(), want) == len(names) })
	}
	runs := ran("open")
	Await(t, 20*time.Second, "the job runs on", func() bool { return ran("open") >= runs+3 })
	if got := inForce(); got != before {
		t.Errorf("with a bad calendar, the days are %s, want %s", got, before)
	}
	for _, name := range names {
		replaceFile(t, days(name), calendarFile(dates...))
	}
	Await(t, 20*time.Second, "nothing is wrong any more", func() bool { return c.notes() == "" })

	never := strings.Replace(text, "{every: 1s, missed: all, calendar: {not_on", "{at: "+now+", calendar: {not_on", 1)
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	files.Write(t, path, never)
	files.Write(t, filepath.Join(filepath.Dir(path), "days.ics"), calendarFile(dates...))
	if out := rota(exitBadConfig, "check", path); !strings.Contains(out, "jobs.yaml:6:") || !strings.Contains(out, "never fires: calendar leaves no slot") {
		t.Errorf("check of a job that never runs: got\n%s", out)
	}

	// A replica that starts with an older calendar does not undo the newer one.
	away := c.Replicas()[2]
	away.Terminate()
	later := append(slices.Clone(dates), "2099-01-01")
	for _, name := range names[:2] {
		replaceFile(t, days(name), calendarFile(later...))
	}
	Await(t, 20*time.Second, "the calendar is in force", func() bool { return strings.HasSuffix(inForce(), "2099-01-01") })
	away.Start()
	away.WaitReady()
	Await(t, 20*time.Second, "the older calendar is reported", func() bool { return strings.Contains(c.notes(), "q3: older than the files in force") })
	replaceFile(t, days("q3"), calendarFile(later...))
	Await(t, 20*time.Second, "all replicas agree", func() bool { return c.notes() == "" })
	if got := inForce(); got != strings.Join(later, " ") {
		t.Errorf("the days are %s, want those of %v", got, later)
	}
	if n := ran("closed"); n > 0 {
		t.Errorf("the job ran %d times on a day on which it is closed", n)
	}
	c.Check(ledger.Effects, nil, nil)
}

// calendarFile returns an iCalendar file with events on dates. Its first event has the lines 2 to 5.
func calendarFile(dates ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\n")
	for _, date := range dates {
		fmt.Fprintf(&b, "BEGIN:VEVENT\nUID:%s\nDTSTART;VALUE=DATE:%s\nEND:VEVENT\n", date, strings.ReplaceAll(date, "-", ""))
	}
	b.WriteString("END:VCALENDAR\n")
	return b.String()
}
