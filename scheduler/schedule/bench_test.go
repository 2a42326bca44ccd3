package schedule_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func BenchmarkNext(b *testing.B) {
	for _, bc := range []struct {
		name string
		spec schedule.Spec
	}{
		{"minutely UTC", cron("* * * * *", "")},
		{"minutely Berlin", cron("* * * * *", "Europe/Berlin")},
		{"weekdays 9:00 UTC", cron("0 9 * * 1-5", "")},
		{"weekdays 9:00 New York", cron("0 9 * * 1-5", "America/New_York")},
		{"daily 2:30 Berlin", cron("30 2 * * *", "Europe/Berlin")},
		{"February 29 Berlin", cron("0 0 29 2 *", "Europe/Berlin")},
		{"every second", schedule.Spec{Every: time.Second}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := parse(b, bc.spec)
			from := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
			at := from
			b.ReportAllocs()
			for b.Loop() {
				next, ok := s.Next(at)
				if !ok || next.Year() > 2040 {
					next = from
				}
				at = next
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse(b, cron("30 2 * * 1-5", "Europe/Berlin"))
	}
}

func BenchmarkLast(b *testing.B) {
	s := parse(b, cron("30 2 * * *", "Europe/Berlin"))
	to := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		s.Last(time.Unix(0, 0), to, 10)
	}
}
