package main

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestARunStartsWithItsFirstStartedAttempt(t *testing.T) {
	first, second := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 8, 5, 0, 0, time.UTC)
	unbegun := job.Attempt{Number: 1, Started: first, State: job.Lost, Reason: "worker is stopping " + job.NotBegun}
	for name, tc := range map[string]struct {
		run  job.Run
		want time.Time
	}{
		"its first attempt executes":          {job.Run{State: job.Running, Started: first}, first},
		"its first attempt has ended":         {job.Run{State: job.Succeeded, Started: first, Attempts: []job.Attempt{{Started: first}}}, first},
		"its second attempt executes":         {job.Run{State: job.Running, Started: second, Attempts: []job.Attempt{{Started: first}}}, first},
		"its first attempt never began":       {job.Run{State: job.Pending, Started: first, Attempts: []job.Attempt{unbegun}}, time.Time{}},
		"its second was the first that began": {job.Run{State: job.Running, Started: second, Attempts: []job.Attempt{unbegun}}, second},
	} {
		if got := startedAt(&tc.run); !got.Equal(tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
