package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

// systemd returns the next instants of a valid OnCalendar expression by the program systemd-analyze: count of them, if there are so
// many.
func systemd(t *testing.T, text string, base time.Time) []time.Time {
	t.Helper()
	slots, accepted := elapsesOf(t, text, base)
	if !accepted {
		t.Fatalf("systemd refuses %q", text)
	}
	return slots
}

func TestCalendarsHaveTheSlotsOfSystemd(t *testing.T) {
	for _, text := range []string{
		"minutely", "hourly", "daily", "weekly", "monthly", "yearly", "quarterly", "semiannually", "bi-annually", "Mon..Fri 09:30", "Sat,Sun *-*-* 08..18/2:00",
		"*-*-* 6,18:00", "*:0/15", "*:0/15:30", "Mon *-*-1..7 10:00", "Fri *-*-22..28 17:00", "*-02~01 23:00", "*-*~03 23:00",
		"*-01,07-01 00:00:00", "02..06:00/20:00", "*-*-01/10 03:00", "*-*-* 02:30 Europe/Berlin",
		"*-*-* 02:30 CET", "daily utc", "Sat *:30 GMT",
	} {
		t.Run(text, func(t *testing.T) {
			var res importer.Result
			importer.Systemd(map[string]string{
				"x.timer": "[Timer]\nOnCalendar=" + text + "\n", "x.service": "[Service]\nExecStart=/bin/true\n",
			}, "UTC", &res)
			spec, ok := res.Jobs["x"]
			if !ok || !res.Complete() {
				t.Fatalf("no translation: %v", res.Problems)
			}
			for _, base := range bases {
				want := systemd(t, text, base)
				if len(want) != count {
					t.Fatalf("systemd has %d instants", len(want))
				}
				sameSlots(t, "x", &spec, base, want)
			}
		})
	}
}

// TestTimersHaveTheSlotsOfSystemd compares whole timers: all expressions of a timer that the import does not refuse.
func TestTimersHaveTheSlotsOfSystemd(t *testing.T) {
	texts := map[string]string{}
	for _, file := range files(t, "testdata/systemd/*.timer", 5) {
		texts[file] = read(t, file)
	}
	for _, file := range files(t, "testdata/systemd/*.service", 6) {
		texts[file] = read(t, file)
	}
	var res importer.Result
	importer.Systemd(texts, "UTC", &res)
	for file, text := range texts {
		name, ok := strings.CutSuffix(file, ".timer")
		if !ok {
			continue
		}
		spec, ok := res.Jobs[strings.TrimPrefix(name, "testdata/systemd/")]
		if !ok {
			t.Errorf("%s: no job", file)
		}
		spec.Jitter = 0 // each run of the original has another delay
		for _, base := range bases {
			var want []time.Time
			for i, line := range strings.Split(text, "\n") {
				refused := slices.ContainsFunc(res.Problems, func(p importer.Problem) bool { return p.File == file && p.Line == i+1 })
				if calendar, ok := strings.CutPrefix(line, "OnCalendar="); ok && !refused {
					want = append(want, systemd(t, calendar, base)...)
				}
			}
			slices.SortFunc(want, time.Time.Compare)
			want = slices.Compact(want)
			sameSlots(t, name, &spec, base, want[:min(count, len(want))])
		}
	}
}

// TestInstantsOfSystemd reads years of two digits as systemd does, and reports times that never come.
func TestInstantsOfSystemd(t *testing.T) {
	for text, want := range map[string]string{
		"27-01-01": "[2027-01-01 00:00:00 +0000 UTC] []", "70-1-2 3:4:5": "[1970-01-02 03:04:05 +0000 UTC] []",
		"2027-02-30":                     "[] [a.timer:2: OnCalendar=2027-02-30: this time never comes]",
		"2027-03-28 02:30 Europe/Berlin": "[] [a.timer:2: OnCalendar=2027-03-28 02:30 Europe/Berlin: this time never comes]",
	} {
		var got importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=" + text + "\n", "a.service": "[Service]\nExecStart=/bin/true\n",
		}, "UTC", &got)
		if text := fmt.Sprint(got.Jobs["a"].At, got.Problems); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}
