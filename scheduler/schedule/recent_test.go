package schedule_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// TestSchedulesAreShared bounds the memory of a second job with the same slots. It must share the zone, which has several KB,
// and the parsed expression with the first job.
func TestSchedulesAreShared(t *testing.T) {
	const jobs, most = 10_000, 64 // bytes for each job
	for name, spec := range map[string]schedule.Spec{
		"an expression":           {Cron: []string{"30 2 * * 1-5"}},
		"an expression in a zone": {Cron: []string{"30 2 * * 1-5"}, Timezone: "Europe/Berlin"},
		"a hashed minute":         {Cron: []string{"H 2 * * *"}, Timezone: "America/New_York"},
		"a period":                {Every: time.Hour},
		"with jitter":             {Cron: []string{"@daily"}, Jitter: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			list := make([]*schedule.Schedule, jobs)
			before := live()
			for i := range list {
				spec.Seed = fmt.Sprintf("job-%d", i)
				s, err := schedule.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				list[i] = s
			}
			if got := (live() - before) / jobs; got > most {
				t.Errorf("a schedule takes %d bytes, want at most %d", got, most)
			}
			runtime.KeepAlive(list)
		})
	}
}

// TestSharedSchedulesDiffer compares schedules that differ in one setting.
func TestSharedSchedulesDiffer(t *testing.T) {
	after := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC) // before the clocks of Berlin jump from 2:00 to 3:00
	start := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	seen := make(map[time.Time]string)
	for _, spec := range []schedule.Spec{
		{Cron: []string{"30 2 * * *"}},
		{Cron: []string{"30 2 * * *"}, Timezone: "Europe/Berlin"},
		{Cron: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Gap: schedule.GapSkip},
		{Cron: []string{"30 2 * * *"}, Timezone: "America/New_York"},
		{Cron: []string{"30 2 * * *"}, Start: start},
		{Cron: []string{"30 2 * * *"}, Exclude: []string{"2026-03-29"}},
		{Cron: []string{"30 2 * * *", "0 13 * * *"}},
		{Every: 7 * time.Hour},
		{Every: 11 * time.Hour},
	} {
		for range 2 { // the second time it comes from the cache
			next, ok := parse(t, spec).Next(after)
			what := fmt.Sprintf("%+v", spec)
			if other, known := seen[next]; !ok || known && other != what {
				t.Errorf("%s: next is %v, the same as for %s", what, next, other)
			}
			seen[next] = what
		}
	}
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
