package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestNotes(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const run, skip, first, last, both = schedule.GapRun, schedule.GapSkip, schedule.FoldFirst, schedule.FoldLast, schedule.FoldBoth
	for _, tc := range []struct {
		claim string
		spec  schedule.Spec
		want  []string
	}{
		{"moved and shown twice", cron("30 2 * * *", "Europe/Berlin"), []string{
			"2026-03-29: the clock in Europe/Berlin goes from 02:00 to 03:00; 02:30 runs at 03:30",
			"2026-10-25: the clock in Europe/Berlin goes from 03:00 to 02:00; 02:30 is shown twice and runs the first time",
		}},
		{"skipped and last", with(cron("0,15,30,45 2 * * *", "Europe/Berlin"), skip, last), []string{
			"2026-03-29: the clock in Europe/Berlin goes from 02:00 to 03:00; each of 02:00, 02:15, 02:30, … is skipped",
			"2026-10-25: the clock in Europe/Berlin goes from 03:00 to 02:00; each of 02:00, 02:15, 02:30, … is shown twice and runs the last time",
		}},
		{"several moved", with(cron("0,30 2 * * *", "Europe/Berlin"), run, both), []string{
			"2026-03-29: the clock in Europe/Berlin goes from 02:00 to 03:00; each of 02:00, 02:30 runs 1h later",
			"2026-10-25: the clock in Europe/Berlin goes from 03:00 to 02:00; each of 02:00, 02:30 is shown twice and runs both times",
		}},
		{"elapsed time in a restricted hour", cron("0 */2 * * *", "Europe/Berlin"), []string{
			"2026-03-29: the clock in Europe/Berlin goes from 02:00 to 03:00; 02:00 does not occur",
			"2026-10-25: the clock in Europe/Berlin goes from 03:00 to 02:00; 02:00 is shown twice and runs both times",
		}},
		{"elapsed time all day is not affected", cron("*/30 * * * *", "Europe/Berlin"), nil},
		{"other hours are not affected", cron("0 9 * * *", "Europe/Berlin"), nil},
		{"other days are not affected", cron("30 2 1 * *", "Europe/Berlin"), nil},
		{"into the next day", cron("30 23 28 3 *", "America/Nuuk"), []string{
			"2026-03-28: the clock in America/Nuuk goes from 23:00 to 2026-03-29 00:00; 23:30 runs at 2026-03-29 00:30",
		}},
		{"excluded days are not affected", schedule.Spec{Cron: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Exclude: []string{"2026-03-29", "2026-10-25"}}, nil},
		{"both days", cron("0 9 */2 * 5", ""), []string{
			"day of month and day of week are both set, and one begins with *: a day must match both; Kubernetes takes either one"}},
		{"either day", cron("0 9 13 * 5", ""), []string{"day of month and day of week are both set: a day that matches either one counts"}},
		{"no further slot", schedule.Spec{At: []time.Time{from}}, []string{"never fires again after 2026-01-01T00:00:00Z"}},
		{"rare", cron("0 9 29 2 *", ""), []string{"fires next on 2028-02-29, more than a year away"}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			got := parse(t, tc.spec).Notes(from, from, 0)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	berlin := parse(t, cron("30 2 * * *", "Europe/Berlin"))
	if got := berlin.Notes(from, from, 1); len(got) != 1 {
		t.Errorf("Notes(from, from, 1) = %q, want one", got)
	}
	for until, want := range map[time.Time]string{
		time.Date(2028, 3, 25, 0, 30, 0, 0, time.UTC):  "2027-10-31",
		time.Date(2028, 3, 26, 1, 30, 0, 0, time.UTC):  "2028-03-26",
		time.Date(2028, 10, 29, 0, 30, 0, 0, time.UTC): "2028-10-29", // at its first showing
	} {
		if got := berlin.Notes(from, until, 0); !strings.HasPrefix(got[len(got)-1], want) {
			t.Errorf("until %v: the last note is %q, want that of %s", until, got[len(got)-1], want)
		}
	}
}

func TestPitfalls(t *testing.T) {
	const (
		hash   = "H depends on the job's name, so these are not the slots of any job; name the job instead, also with --file"
		quartz = "day of week: 1 is Monday, as in cron; in Quartz it is Sunday"
	)
	for expression, want := range map[string][]string{
		"30 2 * * 1":        nil,
		"0 30 2 * * MON":    nil,
		"0 30 2 ? * MON#1":  nil,
		"0 30 2 * * */2":    nil,
		"0 30 2 * MAR THU":  nil,
		"@hourly":           nil,
		"H H * * *":         {hash},
		"0,h(3-5) 2 * * *":  {hash},
		"0 30 2 ? * 2-6":    {quartz},
		"0 H 2 * * SUN,6#2": {hash, quartz},
	} {
		if diff := cmp.Diff(want, schedule.Pitfalls(expression)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", expression, diff)
		}
	}
}
