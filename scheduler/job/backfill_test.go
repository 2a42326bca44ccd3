package job_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestABackfillDecidesOnlyItsRanges orders a backfill while the job is paused. The slots of the pause are no part of it, so a later
// backfill can run them.
func TestABackfillDecidesOnlyItsRanges(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 2, minute, 0, 0, time.UTC) }
	one := func(from, to int) job.SlotRange { return job.SlotRange{From: at(from), To: at(to)} }
	ranges := []job.SlotRange{one(0, 10), one(20, 30)} // paused from 30 on
	for name, c := range map[string]struct {
		b    job.Backfill
		want []job.SlotRange
	}{
		"done":                  {job.Backfill{State: job.BackfillDone}, ranges},
		"without a slot":        {job.Backfill{State: job.BackfillStopped}, nil},
		"stopped, oldest first": {job.Backfill{State: job.BackfillStopped, Position: at(25)}, []job.SlotRange{one(0, 10), one(20, 25)}},
		"stopped, newest first": {
			job.Backfill{State: job.BackfillStopped, Position: at(5), Order: job.NewestFirst}, []job.SlotRange{one(5, 10), one(20, 30)},
		},
		"after another": {
			job.Backfill{State: job.BackfillDone, Past: []job.SlotRange{one(8, 20)}}, []job.SlotRange{one(0, 30)},
		},
	} {
		c.b.From, c.b.To, c.b.Ranges = at(0), at(50), ranges
		if got := c.b.Decided(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
