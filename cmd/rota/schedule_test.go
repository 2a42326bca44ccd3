package main

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestScheduleOfNamesWhatStartsAJob(t *testing.T) {
	at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, spec := range map[string]job.Spec{
		"":                                   {},
		"30 2 * * *; @daily":                 {Schedule: []string{"30 2 * * *", "@daily"}},
		"every 1m":                           {Every: job.Duration(time.Minute)},
		"at 2027-01-02T03:04:05Z":            {At: []time.Time{at}},
		"at 2027-01-02T03:04:05Z and 1 more": {At: []time.Time{at, at.Add(time.Hour)}},
		"after load, check (done)":           {After: []job.After{{Job: "load", When: job.WhenSuccess}, {Job: "check", When: job.WhenDone}}},
	} {
		if got := scheduleOf(&spec); got != want {
			t.Errorf("scheduleOf(%+v) = %q, want %q", spec, got, want)
		}
	}
}
