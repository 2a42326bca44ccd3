package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func parse(t testing.TB, spec schedule.Spec) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(spec)
	if err != nil {
		t.Fatalf("Parse(%+v): %v", spec, err)
	}
	return s
}

func cron(expr, zone string) schedule.Spec {
	return schedule.Spec{Cron: []string{expr}, Timezone: zone}
}

func with(s schedule.Spec, gap schedule.Gap, fold schedule.Fold) schedule.Spec {
	s.Gap, s.Fold = gap, fold
	return s
}

// TestNext lists slots by the job's wall clock, so that a reader can check them against a calendar.
func TestNext(t *testing.T) {
	const run, skip, first, last, both = schedule.GapRun, schedule.GapSkip, schedule.FoldFirst, schedule.FoldLast, schedule.FoldBoth
	for _, tc := range []struct {
		claim string
		spec  schedule.Spec
		from  string
		want  []string
	}{
		{"a gap moves 02:30 to 03:30", cron("30 2 * * *", "America/New_York"), "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"a gap moves 02:00 to 03:00", cron("0 2 * * *", "America/New_York"), "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"gap skip drops 02:30", with(cron("30 2 * * *", "America/New_York"), skip, first), "2026-03-07T12:00:00Z",
			[]string{"2026-03-09T02:30:00-04:00"}},
		{"a moved slot is not lost between its wall time and itself", cron("30 2 * * *", "America/New_York"), "2026-03-08T07:15:00Z",
			[]string{"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"a moved slot that meets a regular one is one slot", cron("30 2,3 * * *", "America/New_York"), "2026-03-08T00:00:00Z",
			[]string{"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00", "2026-03-09T03:30:00-04:00"}},
		{"moved slots of several expressions mix in order", schedule.Spec{Cron: []string{"30 2 * * *", "15 3 * * *"}, Timezone: "America/New_York"}, "2026-03-08T00:00:00Z",
			[]string{"2026-03-08T03:15:00-04:00", "2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"moved slots of one expression mix in order", cron("15,45 2,3 * * *", "America/New_York"), "2026-03-08T05:00:00Z",
			[]string{"2026-03-08T03:15:00-04:00", "2026-03-08T03:45:00-04:00", "2026-03-09T02:15:00-04:00"}},
		{"fold first", cron("30 1 * * *", "America/New_York"), "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"fold last", with(cron("30 1 * * *", "America/New_York"), run, last), "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-05:00"}},
		{"fold both", with(cron("30 1 * * *", "America/New_York"), run, both), "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-05:00"}},
		{"fold first, asked inside the second hour", cron("30 1 * * *", "America/New_York"), "2026-11-01T06:10:00Z",
			[]string{"2026-11-02T01:30:00-05:00"}},
		{"fold last, asked inside the first hour", with(cron("0,30 1 * * *", "America/New_York"), run, last), "2026-11-01T05:10:00Z",
			[]string{"2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-02T01:00:00-05:00"}},
		{"fold both of a yearly job, asked between the two", with(cron("30 1 1 11 *", "America/New_York"), run, both), "2026-11-01T05:35:00Z",
			[]string{"2026-11-01T01:30:00-05:00", "2027-11-01T01:30:00-04:00"}},
		{"fold last of a yearly job, asked between the two", with(cron("30 1 1 11 *", "America/New_York"), run, last), "2026-11-01T05:35:00Z",
			[]string{"2026-11-01T01:30:00-05:00", "2027-11-01T01:30:00-04:00"}},
		{"*/30 is every 30 real minutes in a gap", cron("*/30 * * * *", "America/New_York"), "2026-03-08T06:00:00Z",
			[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"}},
		{"*/30 is every 30 real minutes in a fold", cron("*/30 * * * *", "America/New_York"), "2026-11-01T05:00:00Z",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"}},
		{"an hourly job fires in both hours of a fold", cron("0 * * * *", "America/New_York"), "2026-11-01T04:00:00Z",
			[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"}},
		{"an hourly job fires once an hour in a gap", cron("0 * * * *", "America/New_York"), "2026-03-08T05:00:00Z",
			[]string{"2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"}},
		{"a star minute follows the clock through a gap", cron("*/30 2 * * *", "America/New_York"), "2026-03-07T12:00:00Z",
			[]string{"2026-03-09T02:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"Lord Howe moves by half an hour", cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00:00Z",
			[]string{"2026-10-04T02:45:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"Lord Howe repeats half an hour", cron("45 1 * * *", "Australia/Lord_Howe"), "2026-04-04T00:00:00Z",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"Lord Howe every 30 minutes in its gap", cron("*/30 * * * *", "Australia/Lord_Howe"), "2026-10-03T15:00:00Z",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-04T03:00:00+11:00"}},
		{"Lord Howe every 30 minutes in its fold", cron("*/30 * * * *", "Australia/Lord_Howe"), "2026-04-04T14:20:00Z",
			[]string{"2026-04-05T01:30:00+11:00", "2026-04-05T01:30:00+10:30", "2026-04-05T02:00:00+10:30"}},
		{"Chatham's fold is not a loop", cron("45 3 * * *", "Pacific/Chatham"), "2026-04-04T00:00:00Z",
			[]string{"2026-04-05T03:45:00+12:45", "2026-04-06T03:45:00+12:45"}},
		{"Chatham's repeated 03:30 fires once", cron("30 3 * * *", "Pacific/Chatham"), "2026-04-04T00:00:00Z",
			[]string{"2026-04-05T03:30:00+13:45", "2026-04-06T03:30:00+12:45"}},
		{"Sao Paulo has no midnight", cron("0 0 * * *", "America/Sao_Paulo"), "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"Sao Paulo at one", cron("0 1 4 11 *", "America/Sao_Paulo"), "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2019-11-04T01:00:00-03:00"}},
		{"Cairo has no midnight", cron("0 0 24 4 *", "Africa/Cairo"), "2026-04-01T00:00:00Z",
			[]string{"2026-04-24T01:00:00+03:00", "2027-04-24T00:00:00+02:00"}},
		{"Troll jumps two hours", cron("30 1 * * *", "Antarctica/Troll"), "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T01:30:00+02:00"}},
		{"Apia has no 2011-12-30", cron("0 9 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z",
			[]string{"2011-12-29T09:00:00-10:00", "2011-12-31T09:00:00+14:00", "2012-01-01T09:00:00+14:00"}},
		{"a yearly job of Apia's missing day runs a day later", cron("0 9 30 12 *", "Pacific/Apia"), "2011-12-29T00:00:00Z",
			[]string{"2011-12-31T09:00:00+14:00", "2012-12-30T09:00:00+14:00"}},
		{"Dublin's winter time is the negative one", cron("30 1 * * *", "Europe/Dublin"), "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T02:30:00+01:00", "2026-03-30T01:30:00+01:00"}},
		{"Dublin's fold", cron("30 1 * * *", "Europe/Dublin"), "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00Z"}},
		{"Casablanca goes back for Ramadan", cron("30 2 * * *", "Africa/Casablanca"), "2026-02-14T12:00:00Z",
			[]string{"2026-02-15T02:30:00+01:00", "2026-02-16T02:30:00Z"}},
		{"Casablanca goes forward after Ramadan", cron("30 2 * * *", "Africa/Casablanca"), "2026-03-21T12:00:00Z",
			[]string{"2026-03-22T03:30:00+01:00", "2026-03-23T02:30:00+01:00"}},
		{"Monrovia was 44 minutes and 30 seconds behind", cron("0 12 * * *", "Africa/Monrovia"), "1972-01-05T13:00:00Z",
			[]string{"1972-01-06T12:44:30Z", "1972-01-07T12:00:00Z"}},
		{"Monrovia's gap", cron("10 0 * * *", "Africa/Monrovia"), "1972-01-06T13:00:00Z",
			[]string{"1972-01-07T00:54:30Z", "1972-01-08T00:10:00Z"}},
		{"a gap at the end of a day moves into the next", cron("30 23 * * *", "America/Nuuk"), "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T00:30:00-01:00", "2026-03-29T23:30:00-01:00"}},
		{"February 29 after a century without", cron("0 0 29 2 *", ""), "2096-03-01T00:00:00Z",
			[]string{"2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"}},
		{"the fifth Monday of February is 40 years away", cron("0 0 * 2 MON#5", ""), "2072-03-01T00:00:00Z",
			[]string{"2112-02-29T00:00:00Z"}},
		{"both day fields: either", cron("0 0 29 2 1", ""), "2026-02-20T00:00:00Z",
			[]string{"2026-02-23T00:00:00Z", "2027-02-01T00:00:00Z"}},
		{"both day fields, one begins with *: both", cron("0 0 */2 * 1", ""), "2026-06-01T00:00:00Z",
			[]string{"2026-06-15T00:00:00Z", "2026-06-29T00:00:00Z", "2026-07-13T00:00:00Z", "2026-07-27T00:00:00Z"}},
		{"both day fields, the second begins with *: both", cron("0 0 13 * */5", ""), "2026-06-01T00:00:00Z",
			[]string{"2026-09-13T00:00:00Z", "2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"}},
		{"last day", cron("0 0 L * *", ""), "2028-02-01T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"}},
		{"third before the last day", cron("0 0 L-3 * *", ""), "2026-02-01T00:00:00Z", []string{"2026-02-25T00:00:00Z", "2026-03-28T00:00:00Z"}},
		{"last weekday", cron("0 0 LW * *", ""), "2026-01-01T00:00:00Z", []string{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"}},
		{"nearest weekday", cron("0 0 1W,15W * *", ""), "2026-08-01T00:00:00Z", []string{"2026-08-03T00:00:00Z", "2026-08-14T00:00:00Z"}},
		{"last Friday, three ways", schedule.Spec{Cron: []string{"0 1 * * 5L", "0 2 * * FRI#L", "0 3 * * friL"}}, "2026-11-21T00:00:00Z",
			[]string{"2026-11-27T01:00:00Z", "2026-11-27T02:00:00Z", "2026-11-27T03:00:00Z", "2026-12-25T01:00:00Z"}},
		{"Sunday is 7 and 0, in ranges too", cron("0 0 * * 6-7", ""), "2026-11-21T00:00:00Z", []string{"2026-11-22T00:00:00Z", "2026-11-28T00:00:00Z"}},
		{"a range wraps", cron("0 22-1 * * *", ""), "2026-11-21T21:00:00Z",
			[]string{"2026-11-21T22:00:00Z", "2026-11-21T23:00:00Z", "2026-11-22T00:00:00Z", "2026-11-22T01:00:00Z", "2026-11-22T22:00:00Z"}},
		{"six fields", cron("*/20 59 23 31 12 ?", ""), "2026-11-21T21:00:00Z",
			[]string{"2026-12-31T23:59:00Z", "2026-12-31T23:59:20Z", "2026-12-31T23:59:40Z", "2027-12-31T23:59:00Z"}},
		{"@every is every", cron("@every 90s", ""), "2026-11-21T00:00:00Z", []string{"2026-11-21T00:01:30Z", "2026-11-21T00:03:00Z"}},
		{"@weekly", cron(" @weekly ", ""), "2026-11-21T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		{"every lies on multiples since 1970", schedule.Spec{Every: 7 * time.Hour}, "1970-01-01T00:00:00Z", []string{"1970-01-01T07:00:00Z", "1970-01-01T14:00:00Z"}},
		{"every before 1970", schedule.Spec{Every: 7 * time.Hour}, "1969-12-31T16:00:00Z", []string{"1969-12-31T17:00:00Z", "1970-01-01T00:00:00Z"}},
		{"instants are sorted and a set", schedule.Spec{At: []time.Time{time.Unix(50, 0), time.Unix(20, 0), time.Unix(50, 0)}}, "1970-01-01T00:00:20Z",
			[]string{"1970-01-01T00:00:50Z"}},
		{"excluded dates are those of the zone", schedule.Spec{Cron: []string{"0 23 * * *"}, Timezone: "America/New_York", Exclude: []string{"2026-12-25"}}, "2026-12-24T12:00:00Z",
			[]string{"2026-12-24T23:00:00-05:00", "2026-12-26T23:00:00-05:00"}},
		{"excluded dates hold for every", schedule.Spec{Every: 12 * time.Hour, Exclude: []string{"2026-12-25", "2026-12-26"}}, "2026-12-24T06:00:00Z",
			[]string{"2026-12-24T12:00:00Z", "2026-12-27T00:00:00Z"}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			s := parse(t, tc.spec)
			zone, err := time.LoadLocation(tc.spec.Timezone)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			at := instant(t, tc.from)
			for _, want := range tc.want {
				next, ok := s.Next(at)
				if !ok {
					break
				}
				at = next
				if next.Equal(instant(t, want)) {
					got = append(got, want)
				} else {
					got = append(got, next.In(zone).Format(time.RFC3339))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	start, end := instant(t, "2026-01-01T00:00:00Z"), instant(t, "2026-01-01T00:03:00Z")
	s := parse(t, schedule.Spec{Every: time.Minute, Start: start, End: end})
	if got, ok := s.Next(start.AddDate(-50, 0, 0)); !ok || !got.Equal(start) {
		t.Errorf("first slot = %v, %v; want start itself", got, ok)
	}
	if got, ok := s.Next(end.Add(-time.Minute)); ok {
		t.Errorf("slot %v at or after end", got)
	}
	if n, exact := s.Count(time.Time{}, end.AddDate(1, 0, 0), 100); n != 3 || !exact {
		t.Errorf("Count = %d, %v; want 3, true", n, exact)
	}
	s = parse(t, schedule.Spec{Every: time.Second, Start: start.Add(time.Nanosecond), End: end.Add(time.Nanosecond)})
	if got, _ := s.Next(time.Time{}); !got.Equal(start.Add(time.Second)) {
		t.Errorf("first slot = %v, want the first one not before start", got)
	}
	if _, ok := s.Next(end.Add(-time.Millisecond)); !ok {
		t.Error("the slot a nanosecond before end is missing")
	}
}
