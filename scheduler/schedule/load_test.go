package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// begins counts the begins of runs in n minutes with Next.
func begins(s *schedule.Schedule, from time.Time, n int) []int {
	counts, end := make([]int, n), from.Add(time.Duration(n)*time.Minute)
	for at, ok := s.Next(from.Add(-s.Offset() - time.Millisecond)); ok && at.Add(s.Offset()).Before(end); at, ok = s.Next(at) {
		counts[at.Add(s.Offset()).Sub(from)/time.Minute]++
	}
	return counts
}

// TestLoadAgreesWithNext compares the counts of a week with those of Next, in weeks with and without changes of the clock.
func TestLoadAgreesWithNext(t *testing.T) {
	const week = 7 * 24 * 60
	random := rand.New(rand.NewPCG(3, 4))
	for _, w := range []struct{ zone, from string }{
		{"UTC", "2026-12-28T13:07:00Z"},
		{"Europe/Berlin", "2026-06-01T00:00:00Z"},
		{"Europe/Berlin", "2026-03-26T11:00:00Z"},
		{"Europe/Berlin", "2026-10-21T03:00:00Z"},
		{"America/New_York", "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", "2026-04-01T00:00:00Z"},
		{"Asia/Kathmandu", "2026-12-28T13:07:00Z"},
		{"Pacific/Apia", "2011-12-27T00:00:00Z"},
		{"America/Araguaina", "2038-01-15T00:00:00Z"}, // in some databases its data end at 2038-01-19T03:14:07Z
	} {
		from := instant(t, w.from)
		specs := []schedule.Spec{
			{Every: time.Second}, {Every: 7 * time.Second}, {Every: 90 * time.Second}, {Every: 3 * time.Hour},
			{Every: 7 * time.Second, Seed: "a", Jitter: time.Hour},
			{Every: time.Minute, Timezone: w.zone, Exclude: []string{from.AddDate(0, 0, 2).Format(time.DateOnly)}},
			{At: []time.Time{from, from.Add(61500 * time.Millisecond), from.AddDate(0, 1, 0)}},
			{Cron: []string{"*/7 * * * *", "0 2 * * *"}, Timezone: w.zone},
			{Cron: []string{"* * * * *"}, Timezone: w.zone, Start: from.Add(25 * time.Hour), End: from.Add(26 * time.Hour)},
			{Cron: []string{"*/20 * 1-3 * * *"}, Timezone: w.zone},
			{Cron: []string{"*/20 * 22 * * *"}, Timezone: w.zone},
			{Cron: []string{"*/20 * 1-3 * * *"}, Timezone: w.zone, Seed: "b", Jitter: time.Hour},
			{Cron: []string{"30 2 * * *"}, Timezone: w.zone, Seed: "c", Jitter: 3 * time.Hour},
			{Cron: []string{"30 2 * * *"}, Timezone: w.zone, Exclude: []string{from.AddDate(0, 0, 3).Format(time.DateOnly)}},
		}
		for _, change := range schedule.Elses() {
			spec := cron("*/10 2,9 * * *", w.zone)
			spec.Calendar = &schedule.Calendar{Name: "work", Weekdays: []string{"mon-thu"}, Else: change}
			specs = append(specs, spec)
		}
		specs = append(specs, schedule.Spec{
			Every: 7 * time.Second, Timezone: w.zone, Calendar: &schedule.Calendar{Name: "work", Weekdays: []string{"sat"}, Not: true},
		})
		for range 20 {
			spec := cron(randomExpression(random).String(), w.zone)
			spec.Gap, spec.Fold = schedule.Gaps()[random.IntN(2)], schedule.Folds()[random.IntN(3)]
			specs = append(specs, spec)
		}
		var all schedule.Load
		sum := make([]int, week)
		for _, spec := range specs {
			s := parse(t, spec)
			want := begins(s, from, week)
			var l schedule.Load
			l.Add(s)
			l.Add(s)
			all.Add(s)
			got := l.Minutes(from.Add(59*time.Second), week)
			for i := range want {
				sum[i] += want[i]
				if got[i] != 2*want[i] {
					t.Fatalf("%+v in %s: minute %d: got %d begins of 2 jobs, want %d", spec, w.zone, i, got[i], 2*want[i])
				}
			}
			if s.Offset() == 0 {
				if diff := cmp.Diff(want, s.PerMinute(from, week)); diff != "" {
					t.Fatalf("%+v: PerMinute (-want +got):\n%s", spec, diff)
				}
			}
		}
		if diff := cmp.Diff(sum, all.Minutes(from, week)); diff != "" {
			t.Errorf("%s: sum of all (-want +got):\n%s", w.zone, diff)
		}
	}
}

// BenchmarkLoad counts the coming week of 100,000 jobs, as the page does once in a minute.
func BenchmarkLoad(b *testing.B) {
	for name, spec := range map[string]func(i int) schedule.Spec{
		"1440 daily": func(i int) schedule.Spec { return cron(fmt.Sprintf("%d %d * * *", i%60, i/60%24), "Europe/Berlin") },
		"daily with jitter": func(i int) schedule.Spec {
			return schedule.Spec{Cron: []string{"0 0 * * *"}, Seed: fmt.Sprint(i), Jitter: time.Hour}
		},
		"a thousand expressions": func(i int) schedule.Spec {
			return cron(fmt.Sprintf("%d-59/%d * * * *", i%40, 1+i%19), "America/New_York")
		},
		"every minute, jitter": func(i int) schedule.Spec {
			return schedule.Spec{Cron: []string{"* * * * *"}, Seed: fmt.Sprint(i), Jitter: time.Minute}
		},
	} {
		b.Run(name, func(b *testing.B) {
			jobs := make([]*schedule.Schedule, 100_000)
			for i := range jobs {
				jobs[i] = parse(b, spec(i))
			}
			from := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
			for b.Loop() {
				var l schedule.Load
				for _, s := range jobs {
					l.Add(s)
				}
				l.Minutes(from, 7*24*60)
			}
		})
	}
}
