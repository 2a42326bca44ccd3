package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// reasons returns the reasons of a refusal, each an *Error.
func reasons(t *testing.T, err error) []schedule.Error {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v (%T) is not joined", err, err)
	}
	var list []schedule.Error
	for _, e := range joined.Unwrap() {
		var reason *schedule.Error
		if !errors.As(e, &reason) {
			t.Fatalf("reason %v (%T) is not an *Error", e, e)
		}
		if reason.Hint == "" {
			t.Errorf("%v does not say what to write instead", reason)
		}
		list = append(list, *reason)
	}
	return list
}

func TestExpressionsAreRefused(t *testing.T) {
	for _, tc := range []struct{ expr, want string }{
		{"", `is empty`},
		{"  ", `is empty`},
		{"* * * *", `has 4 fields`},
		{"0 0 0 1 1 * 2030", `years are not supported`},
		{"* * * * * * * *", `has 8 fields`},
		{"60 * * * *", `minute 60 is not in 0-59 (minutes go from 0 to 59)`},
		{"* 24 * * *", `hour 24 is not in 0-23 (hours go from 0 to 23)`},
		{"* * 0 * *", `day of month 0 is not in 1-31`},
		{"* * * 13 *", `month 13 is not in 1-12 (months go from 1 to 12, or JAN to DEC)`},
		{"* * * * 8", `day of week 8 is not in 0-7`},
		{"61 * * * * *", `second 61 is not in 0-59 (seconds go`},
		{"* 1,22-30/2 * * *", `hour 30 is not in 0-23`},
		{"* * * FEBR *", `month "FEBR" is not a number or a name`},
		{"* * * * FRI-MUN", `day of week "MUN" is not a number or a name`},
		{"* * * ANF *", `month "ANF" is not a number or a name`},
		{"* * * * MON#6", `day of week "MON#6": the number after # is not in 1-5 (MON#1 to MON#5, or MONL for the last)`},
		{"* * 32W * *", `day of month 32 is not in 1-31`},
		{"* * 15W/2 * *", `W goes with one day`},
		{"* * L-31 * *", `day of month "L-31": the number after L- is not in 1-30`},
		{"* * * * L", `L needs a day here`},
		{"* * * * 9L", `day of week 9 is not in 0-7`},
		{"* * * * 5-1/2", `cannot have a step`},
		{"1,,2 * * * *", `minute "1,,2": has an empty entry`},
		{"1, * * * *", `has an empty entry`},
		{"+5 * * * *", `minute "+5": has a character`},
		{"٣ * * * *", `has a character`},
		{"*5 * * * *", `only a step can follow *`},
		{"*-5 * * * *", `only a step can follow *`},
		{"*/0 * * * *", `minute "*/0": a step is a number, 1 or more`},
		{"*/100 * * * *", `a step of 100 exceeds the range of minutes, 0-59 (for every 100 minutes write every: 100m)`},
		{"*/-5 * * * *", `minute "*/-5": a step is a number, 1 or more`},
		{"1-2-3 * * * *", `minute "1-2-3": a range has two ends`},
		{"99999999999999999999 * * * *", `minute 99999999999999999999 is not in 0-59`},
		{"foo * * * *", `minute "FOO" is not a number`},
		{"H(5-1) * * * *", `such as H(0-59)`},
		{"H(0-60) * * * *", `is not a range for H`},
		{"H(-1-5) * * * *", `is not a range for H`},
		{"H(1-5 * * * *", `is not a range for H`},
		{"HH * * * *", `is not a range for H`},
		{"H/0 * * * *", `is not a step for H`},
		{"H/61 * * * *", `is not a step for H`},
		{"TZ=UTC 0 0 * * *", `write timezone:`},
		{"TZ=", `write timezone:`},
		{"TZ=0", `write timezone:`},
		{"cron_tz=America/New_York 30 2 * * *", `write timezone:`},
		{"@reboot", `a cluster does not reboot`},
		{"@fortnightly", `is not a known word`},
		{"@every", `is not a duration`},
		{"@every 0s", `is shorter than 1s`},
		{"@every -5s", `is shorter than 1s`},
		{"@every 100ms", `is shorter than 1s`},
		{"@every 1.0005s", `finer than a millisecond`},
		{"@every 90000h", `longer than 10 years`},
		{"0 0 30 2 *", `never fires`},
		{"0 0 31 2,4,6,9,11 *", `never fires`},
		{"0 0 L-30 4 *", `never fires`},
		{strings.Repeat("1,", 128) + "1 * * * *", `longer than 256 bytes`},
	} {
		t.Run(tc.expr, func(t *testing.T) {
			_, err := schedule.Parse(schedule.Spec{Cron: []string{"@daily", tc.expr}})
			got := reasons(t, err)
			if len(got) != 1 {
				t.Fatalf("reasons = %v, want one", got)
			}
			if got[0].Field != "schedule" || got[0].Index != 1 {
				t.Errorf("placed at %s[%d], want schedule[1]", got[0].Field, got[0].Index)
			}
			if !strings.Contains(got[0].Error(), tc.want) {
				t.Errorf("reason = %v\nwant it to say %q", &got[0], tc.want)
			}
		})
	}
}

func TestAllReasonsAreReportedAtOnce(t *testing.T) {
	_, err := schedule.Parse(schedule.Spec{
		Cron:     []string{"0 9 * * *", "60 * * * *", "@reboot"},
		Timezone: "Europe/Atlantis",
		Gap:      "jump",
		Fold:     "twice",
		Start:    time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		End:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Exclude:  []string{"2026-12-25", "2026-02-29", "25.12.2026"},
		Jitter:   -time.Second,
	})
	type place struct {
		Field string
		Index int
	}
	var got []place
	for _, r := range reasons(t, err) {
		got = append(got, place{r.Field, r.Index})
	}
	want := []place{
		{"timezone", -1}, {"dst.gap", -1}, {"dst.fold", -1}, {"end", -1}, {"exclude", 1}, {"exclude", 2}, {"jitter", -1},
		{"schedule", 1}, {"schedule", 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s\n%v", diff, err)
	}
}

func TestSpecsAreRefused(t *testing.T) {
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	christmas := []string{"0 12 25 12 *"}
	for _, tc := range []struct {
		claim string
		spec  schedule.Spec
		want  string
	}{
		{"nothing set", schedule.Spec{}, "schedule: needs exactly one"},
		{"two set", schedule.Spec{Cron: christmas, Every: time.Hour}, "schedule: needs exactly one"},
		{"every too short", schedule.Spec{Every: time.Millisecond}, `every "1ms": is shorter than 1s`},
		{"every negative", schedule.Spec{Every: -time.Hour}, "is shorter than 1s"},
		{"every too long", schedule.Spec{Every: 11 * 365 * 24 * time.Hour}, "is longer than 10 years"},
		{"every too fine", schedule.Spec{Every: time.Second + time.Microsecond}, "finer than a millisecond"},
		{"instant too fine", schedule.Spec{At: []time.Time{time.Unix(1, 1)}}, "finer than a millisecond"},
		{"instant too far", schedule.Spec{At: []time.Time{day(10000, 1, 1)}}, "outside the years"},
		{"the machine's zone", schedule.Spec{Cron: christmas, Timezone: "Local"}, "depends on the machine"},
		{"a path for a zone", schedule.Spec{Cron: christmas, Timezone: "../etc/passwd"}, "is not a time zone"},
		{"an absolute path for a zone", schedule.Spec{Cron: christmas, Timezone: "/etc/localtime"}, "is not a known time zone"},
		{"a leap-second zone", schedule.Spec{Cron: christmas, Timezone: "right/UTC"}, "counts leap seconds"},
		{"a TZ trick", schedule.Spec{Cron: christmas, Timezone: "TZ=UTC"}, "is not a time zone"},
		{"start at end", schedule.Spec{Cron: christmas, Start: day(2026, 1, 1), End: day(2026, 1, 1)}, "is not after start"},
		{"window between slots", schedule.Spec{Cron: christmas, Start: day(2026, 1, 1), End: day(2026, 12, 25)}, "never fires: start and end leave no slot"},
		{"only slot excluded", schedule.Spec{Cron: christmas, Start: day(2026, 1, 1), End: day(2027, 1, 1), Exclude: []string{"2026-12-25"}}, "start and end, exclude leave no slot"},
		{"instants outside the window", schedule.Spec{At: []time.Time{day(2026, 1, 1)}, Start: day(2026, 1, 2)}, "at: never fires"},
		{"only in gaps that are skipped", schedule.Spec{Cron: []string{"30 2 * 3 SUN#2"}, Timezone: "America/New_York", Gap: schedule.GapSkip, Start: day(2010, 1, 1)}, "gap: skip"},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			_, err := schedule.Parse(tc.spec)
			got := reasons(t, err)
			if len(got) != 1 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want one reason that says %q", err, tc.want)
			}
		})
	}
}

func TestNeverFiresDiffersFromInvalid(t *testing.T) {
	for _, tc := range []struct {
		claim string
		spec  schedule.Spec
		want  bool
	}{
		{"no such day", schedule.Spec{Cron: []string{"0 0 30 2 *"}}, true},
		{"in a zone", schedule.Spec{Cron: []string{"0 0 31 4 *"}, Timezone: "Europe/Berlin"}, true},
		{"only in gaps that are skipped", schedule.Spec{Cron: []string{"30 2 * 3 SUN#2"}, Timezone: "America/New_York", Gap: schedule.GapSkip, Start: time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)}, true},
		{"no such minute", schedule.Spec{Cron: []string{"61 * * * *"}}, false},
		{"a period that is too short", schedule.Spec{Every: time.Millisecond}, false},
	} {
		_, err := schedule.Parse(tc.spec)
		if got := reasons(t, err); len(got) != 1 || got[0].NeverFires() != tc.want {
			t.Errorf("%s: %v, want one reason with NeverFires %v", tc.claim, err, tc.want)
		}
	}
}

func TestInstantsInThePastAreValid(t *testing.T) {
	for _, at := range []time.Time{time.Unix(0, 0), time.Date(1815, 6, 18, 0, 0, 0, 0, time.UTC), time.Date(2815, 6, 18, 0, 0, 0, 0, time.UTC)} {
		s := parse(t, schedule.Spec{At: []time.Time{at}})
		if got, ok := s.Next(time.Time{}); !ok || !got.Equal(at) {
			t.Errorf("slot = %v, %v; want %v", got, ok, at)
		}
		if got, ok := s.Next(at); ok {
			t.Errorf("slot %v after the only instant", got)
		}
	}
}
