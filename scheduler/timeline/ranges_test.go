package timeline_test

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

func TestRangesOfSlotsWithoutRuns(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	skipped := func(name string, at time.Time, reason string) *job.Event {
		return &job.Event{Kind: job.EventSkipped, Job: name, At: at, From: at.Add(-time.Hour), To: at, Count: 60, Reason: reason}
	}
	list := timeline.Ranges([]*job.Event{
		skipped("late", at.Add(2*time.Minute), "missed: no leader"),
		{Kind: job.EventLate, Job: "late", Run: "late/x", At: at.Add(time.Minute)},
		skipped("before", at.Add(-time.Second), "missed: no leader"),
		skipped("early", at, "the job was paused"),
	}, timeline.Query{Since: at})
	if len(list) != 2 || list[0].Job != "early" || list[0].Kind != timeline.KindSkipped || list[1].Job != "late" ||
		list[1].Kind != timeline.KindMissed {
		t.Errorf("got %+v, want the ranges of early and late", list)
	}
}
