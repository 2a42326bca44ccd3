package policy

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Backfillable returns the stretches between from and to, both included, in which no slot of the job can have had a run.
//
// These are the time before the job's first schedule, and the skipped ranges. The runs of other slots may have been removed from
// history, so nobody knows whether they ran. Slots after decided belong to the schedule. previous is the job's last backfill: what
// it has decided is left out; nil if there was none.
func Backfillable(
	j *job.Job, when *schedule.Schedule, previous *job.Backfill, skipped []job.SlotRange, from, to, decided time.Time,
) []job.SlotRange {
	first := SlotsAfter(j, when)
	if j.SinceGeneration > 1 { // an earlier schedule, with a jitter that is not known, began at the creation
		first = j.Created.Add(-job.JitterRange.High.Std())
	}
	to = job.Earlier(to, decided)
	var ranges []job.SlotRange
	for _, r := range append([]job.SlotRange{{From: from, To: first}}, skipped...) {
		r.From, r.To = job.Later(r.From, from), job.Earlier(r.To, to)
		if !r.To.Before(r.From) {
			ranges = append(ranges, r)
		}
	}
	ranges = job.JoinRanges(ranges)
	if previous == nil {
		return job.WithoutRanges(ranges, nil)
	}
	return job.WithoutRanges(ranges, previous.Decided())
}
