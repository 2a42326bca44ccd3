package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// TestCalendarsAgreeWithBruteForce compares schedules with calendars with an oracle, over ten years in every zone. The oracle moves
// the wall times of the same expression one by one: they are the slots that it has in UTC.
//
// Without ROTA_ALL_ZONES=1 it tries 30 zones, and those with unusual changes.
func TestCalendarsAgreeWithBruteForce(t *testing.T) {
	zones := zoneNames(t)
	if os.Getenv("ROTA_ALL_ZONES") == "" { // all of them take a minute of processor time
		random := rand.New(rand.NewPCG(5, 6))
		random.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
		zones = zones[:30]
	}
	zones = append(zones, "Pacific/Apia", "Africa/Cairo", "America/Sao_Paulo", "Antarctica/Troll")
	random := rand.New(rand.NewPCG(3, 4))
	expressions := []string{"30 2 * * *", "0 0 * * *", "15,45 2,3 * * *", "0 9 1,15 * *", "0 0 31 * *", "30 1 * * mon", "59 23 L * *", "*/30 2 * * fri", "0 */6 * * *"}
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2005+random.IntN(20), 1, 1, 0, 0, 0, 0, time.UTC)
		until := from.AddDate(10, 0, 0)
		spec := schedule.Spec{
			Cron: []string{expressions[random.IntN(len(expressions))]}, Timezone: name,
			Gap: schedule.Gaps()[random.IntN(2)], Fold: schedule.Folds()[random.IntN(3)],
		}
		if random.IntN(3) == 0 {
			spec.Start, spec.End = from.AddDate(0, 1, random.IntN(60)), until.AddDate(0, -3, -random.IntN(60))
		}
		spec.Exclude = randomDates(random, from, 40)
		walls := slotsIn(parse(t, schedule.Spec{Cron: spec.Cron}), from.AddDate(0, -3, 0), until.AddDate(0, 3, 0))
		spec.Calendar = randomCalendar(random, from)
		s, err := schedule.Parse(spec)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		want := moved(walls, spec, zone, from, until)
		got := slotsIn(s, from, until)
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s %+v %+v: slot %d is %v, want %v", name, spec, *spec.Calendar, i, got[i].In(zone), want[i].In(zone))
				}
			}
			t.Fatalf("%s %+v %+v: %d slots, want %d", name, spec, *spec.Calendar, len(got), len(want))
		}
		if n, exact := s.Count(from, until, 1<<20); n != len(want) || !exact {
			t.Fatalf("%s: Count = %d, %v; want %d", name, n, exact, len(want))
		}
		if last := s.Last(from, until, 5); !slices.Equal(last, want[max(0, len(want)-5):]) {
			t.Fatalf("%s: Last = %v, want %v", name, last, want[max(0, len(want)-5):])
		}
	}
}

func randomCalendar(random *rand.Rand, from time.Time) *schedule.Calendar {
	c := &schedule.Calendar{Name: "c", Not: random.IntN(3) == 0, Else: schedule.Elses()[random.IntN(3)]}
	if random.IntN(3) > 0 {
		c.Weekdays = [][]string{{"mon-fri"}, {"sat", "sun"}, {"fri-mon"}, {"wed"}}[random.IntN(4)]
	}
	c.Dates = randomDates(random, from, []int{0, 60, 1500}[random.IntN(3)])
	c.Except = randomDates(random, from, []int{0, 60, 1500}[random.IntN(3)])
	return c
}

func randomDates(random *rand.Rand, from time.Time, n int) (list []string) {
	for range n {
		list = append(list, from.AddDate(0, 0, random.IntN(3650)).Format(time.DateOnly))
	}
	return list
}

func slotsIn(s *schedule.Schedule, from, until time.Time) (list []time.Time) {
	for at, ok := s.Next(from); ok && !at.After(until); at, ok = s.Next(at) {
		list = append(list, at)
	}
	return list
}

// moved applies the calendar and the excluded dates of a spec to wall times. It looks for each wall time minute by minute.
func moved(walls []time.Time, spec schedule.Spec, zone *time.Location, from, until time.Time) (list []time.Time) {
	if fields := strings.Fields(spec.Cron[0]); fields[0][0] == '*' || fields[1][0] == '*' { // it follows elapsed time
		spec.Gap, spec.Fold = schedule.GapSkip, schedule.FoldBoth
	}
	set := func(dates []string) map[string]bool {
		m := map[string]bool{}
		for _, d := range dates {
			m[d] = true
		}
		return m
	}
	c := spec.Calendar
	dates, except, exclude := set(c.Dates), set(c.Except), set(spec.Exclude)
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	weekdays := [7]bool{}
	for _, w := range c.Weekdays {
		low := slices.Index(names, w[:3])
		for d := low; ; d = (d + 1) % 7 {
			weekdays[d] = true
			if names[d] == w[len(w)-3:] {
				break
			}
		}
	}
	on := func(day time.Time) bool { // day is a midnight in UTC
		text := day.Format(time.DateOnly)
		has := (weekdays[day.Weekday()] || dates[text]) && !except[text]
		return has != c.Not
	}
	date := func(at time.Time) time.Time {
		y, m, d := at.In(zone).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	open := func(day time.Time) bool { return on(day) && !exclude[day.Format(time.DateOnly)] }
	inside := func(at time.Time) bool {
		return (spec.Start.IsZero() || !at.Before(spec.Start)) && (spec.End.IsZero() || at.Before(spec.End))
	}
	add := func(at time.Time) {
		if open(date(at)) && inside(at) && at.After(from) && !at.After(until) {
			list = append(list, at.UTC())
		}
	}
	move := func(at, wall time.Time) { // the slot at shows wall, or another time that the clock jumped over
		source := date(at)
		local := at.In(zone)
		minutes := local.Hour()*60 + local.Minute()
		if wall.Truncate(24 * time.Hour).Equal(source) {
			minutes = wall.Hour()*60 + wall.Minute()
		}
		step := 1
		if c.Else == schedule.ElsePrevious {
			step = -1
		}
		for n := 1; n <= schedule.MaxMove; n++ {
			target := source.AddDate(0, 0, n*step)
			noon := time.Date(target.Year(), target.Month(), target.Day(), 12, 0, 0, 0, zone)
			if !open(target) || !date(noon).Equal(target) {
				continue
			}
			for _, at := range shown(target, minutes, zone, spec) {
				add(at)
			}
			return
		}
	}
	for _, wall := range walls {
		for _, at := range shown(wall.Truncate(24*time.Hour), wall.Hour()*60+wall.Minute(), zone, spec) {
			switch source := date(at); {
			case exclude[source.Format(time.DateOnly)] || !inside(at):
			case on(source):
				add(at)
			case c.Else != schedule.ElseSkip:
				move(at, wall)
			}
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// shown returns the instants at which a wall time of a day counts.
func shown(day time.Time, minutes int, zone *time.Location, spec schedule.Spec) (list []time.Time) {
	want := day.Add(time.Duration(minutes) * time.Minute)
	for at := want.Add(-28 * time.Hour); at.Before(want.Add(28 * time.Hour)); at = at.Add(4 * time.Hour) {
		if it := at.Add(want.Sub(wallOf(at, zone))); wallOf(it, zone).Equal(want) && !slices.ContainsFunc(list, it.Equal) {
			list = append(list, it) // with the offset at this time, the clock shows the wall time
		}
	}
	var before time.Time // the last minute whose wall time is earlier
	for at := want.Add(-28 * time.Hour); len(list) == 0 && at.Before(want.Add(28*time.Hour)); at = at.Add(time.Minute) {
		if wallOf(at, zone).Before(want) {
			before = at
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	switch {
	case len(list) == 0 && spec.Gap == schedule.GapRun:
		return []time.Time{before.Add(want.Sub(wallOf(before, zone)))}
	case len(list) > 1 && spec.Fold == schedule.FoldFirst:
		return list[:1]
	case len(list) > 1 && spec.Fold == schedule.FoldLast:
		return list[len(list)-1:]
	}
	return list
}

// wallOf returns what a zone's clock shows, as if the zone were UTC.
func wallOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

func TestCalendarGolden(t *testing.T) {
	nyse := func(policy schedule.Else) *schedule.Calendar {
		return &schedule.Calendar{Name: "nyse", Weekdays: []string{"mon-fri"}, Except: []string{"2026-12-25", "2027-01-01"}, Else: policy}
	}
	for _, tc := range []struct {
		claim    string
		expr     string
		calendar *schedule.Calendar
		want     []string
	}{
		{"a slot on a day off is skipped", "30 16 24-28 12 *", nyse(""), []string{"2026-12-24T16:30:00-05:00", "2026-12-28T16:30:00-05:00"}},
		{"slots that meet become one", "30 16 24-28 12 *", nyse(schedule.ElseNext), []string{"2026-12-24T16:30:00-05:00", "2026-12-28T16:30:00-05:00"}},
		{"a slot moves to the next day", "30 16 25 12 *", nyse(schedule.ElseNext), []string{"2026-12-28T16:30:00-05:00"}},
		{"a slot moves to the previous day", "30 16 25 12 *", nyse(schedule.ElsePrevious), []string{"2026-12-24T16:30:00-05:00"}},
		{"a calendar of days off", "30 16 25,26 12 *", &schedule.Calendar{Name: "holidays", Not: true, Dates: []string{"2026-12-25"}}, []string{"2026-12-26T16:30:00-05:00"}},
	} {
		s := parse(t, schedule.Spec{Cron: []string{tc.expr}, Timezone: "America/New_York", Calendar: tc.calendar})
		var got []string
		for _, at := range slotsIn(s, instant(t, "2026-12-20T00:00:00Z"), instant(t, "2026-12-31T00:00:00Z")) {
			got = append(got, at.In(must(time.LoadLocation("America/New_York"))).Format(time.RFC3339))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.claim, got, tc.want)
		}
	}
	s := parse(t, schedule.Spec{Cron: []string{"30 16 * * *"}, Timezone: "America/New_York", Calendar: nyse(schedule.ElseNext)})
	want := []string{
		"2026-12-25 is not on nyse; its slots move to 2026-12-28",
		"2027-01-01 is not on nyse; its slots move to 2027-01-04",
	}
	if got := s.Notes(instant(t, "2026-12-20T00:00:00Z"), instant(t, "2027-02-01T00:00:00Z"), 2); !slices.Equal(got, want) {
		t.Errorf("notes: got %q, want %q", got, want)
	}
	if got := fmt.Sprint(s.Off(instant(t, "2026-12-25T21:30:00Z")), s.Off(instant(t, "2026-12-24T21:30:00Z"))); got != want[0] {
		t.Errorf("off: got %q", got)
	}
}

// A calendar that lists its days says nothing about all others, but about a listed day that is excepted.
func TestNotesOfAListOfDays(t *testing.T) {
	days := &schedule.Calendar{Name: "days", Dates: []string{"2026-12-21", "2026-12-23"}, Except: []string{"2026-12-23"}}
	for otherwise, want := range map[schedule.Else][]string{
		schedule.ElseSkip: {"2026-12-23 is not on days; its slots are skipped"},
		schedule.ElsePrevious: {
			"2026-12-22 is not on days; its slots move to 2026-12-21", "2026-12-23 is not on days; its slots move to 2026-12-21",
		},
	} {
		days.Else = otherwise
		s := parse(t, schedule.Spec{Cron: []string{"0 9 * * *"}, Calendar: days})
		if got := s.Notes(instant(t, "2026-12-21T00:00:00Z"), instant(t, "2026-12-24T00:00:00Z"), 5); !slices.Equal(got, want) {
			t.Errorf("else %s: got %q, want %q", otherwise, got, want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCalendarsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		spec schedule.Spec
		want string
	}{
		{schedule.Spec{Cron: []string{"0 0 * * mon"}, Calendar: &schedule.Calendar{Weekdays: []string{"tue-sun"}}}, "never fires: calendar leaves no slot"},
		{schedule.Spec{Cron: []string{"0 0 * * *"}, Calendar: &schedule.Calendar{Weekdays: []string{"mon-fry"}}}, "is not a day of the week"},
		{schedule.Spec{Every: time.Hour, Calendar: &schedule.Calendar{Weekdays: []string{"mon"}, Else: schedule.ElseNext}}, "needs a time of day"},
		{schedule.Spec{Cron: []string{"0 0 * * *"}, Calendar: &schedule.Calendar{Dates: []string{"2026-02-30"}}}, "does not exist"},
	} {
		if _, err := schedule.Parse(tc.spec); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}
