package importer_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

var elapses = regexp.MustCompile(`(?m)^\s*(?:Next elapse|Iter(?:ation|\.) #\d+): \w{3} (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) UTC$`)

// The program systemd-analyze reports when a timer elapses. The test checks that the imported job has the same slots.
func TestCalendarsHaveTheSlotsOfSystemd(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("ROTA_CI") != "" {
			t.Fatal("systemd-analyze is missing: install systemd")
		}
		t.Skip("SKIPPED: systemd-analyze is missing: install systemd")
	}
	base := time.Date(2026, 11, 24, 12, 34, 56, 0, time.UTC)
	for _, text := range []string{
		"minutely", "hourly", "daily", "weekly", "monthly", "yearly", "quarterly", "semiannually", "Mon..Fri 09:30", "Sat,Sun *-*-* 08..18/2:00",
		"*-*-* 6,18:00", "*:0/15", "*:0/15:30", "Mon *-*-1..7 10:00", "Fri *-*-22..28 17:00", "*-02~01 23:00", "*-*~03 23:00",
		"*-01,07-01 00:00:00", "02..06:00/20:00", "*-*-01/10 03:00", "Thu,Fri 2012..2099-*-* 11:12:13",
	} {
		t.Run(text, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "systemd-analyze", "calendar", "--iterations=20", "--base-time="+base.Format("2006-01-02 15:04:05 UTC"), text)
			cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := elapses.FindAllSubmatch(out, -1)
			if len(want) != 20 {
				t.Fatalf("%d instants in:\n%s", len(want), out)
			}
			var res importer.Result
			importer.Systemd(map[string]string{
				"x.timer": "[Timer]\nOnCalendar=" + text + "\n", "x.service": "[Service]\nExecStart=/bin/true\n",
			}, "UTC", &res)
			spec, ok := res.Jobs["x"]
			if !ok || !res.Complete() {
				if text == "Thu,Fri 2012..2099-*-* 11:12:13" {
					return // rota has no years in expressions, and the importer reports that
				}
				t.Fatalf("no translation: %v", res.Problems)
			}
			when, err := policy.When("x", &spec)
			if err != nil {
				t.Fatal(err)
			}
			for i, slot := range slotsAfter(when, base, 20) {
				if got := slot.UTC().Format("2006-01-02 15:04:05"); got != string(want[i][1]) {
					t.Fatalf("slot %d: got %s, systemd has %s (%v)", i, got, want[i][1], spec.Schedule)
				}
			}
		})
	}
}

func slotsAfter(when *schedule.Schedule, from time.Time, n int) (slots []time.Time) {
	for range n {
		from, _ = when.Next(from)
		slots = append(slots, from)
	}
	return slots
}
