package policy

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// StepsBackfillable returns the parts of ranges in which none of the steps behind root can have had a run either. A step has had
// none before it was created. Since it follows root, it has none where root has none. In between, it or root may have been another
// job.
func StepsBackfillable(ranges []job.SlotRange, root *job.Job, steps []*job.Job) []job.SlotRange {
	var unknown []job.SlotRange
	for _, s := range steps {
		first := s.Created
		if s.SinceGeneration > 1 { // it may have had a schedule, with a jitter that is not known
			first = first.Add(-job.JitterRange.High.Std())
		}
		if until := job.Later(SlotsAfter(s, nil), root.Created); until.After(first) {
			unknown = append(unknown, job.SlotRange{From: first, To: until})
		}
	}
	return job.WithoutRanges(ranges, job.JoinRanges(unknown))
}

// Reasons of skipped ranges. An edit of the schedule overtakes slots of the new schedule. Some of them may have run as slots of the
// old one.
const (
	ReasonPaused    = "paused"
	ReasonOvertaken = "the schedule was changed after a later slot was armed"
)

// NeverRan reports whether no slot of a range that was skipped with this reason can have had a run. A slot that an edit of the
// schedule skipped may run after another edit.
func NeverRan(reason string) bool { return reason == ReasonPaused || IsMissed(reason) }

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

// CountSlots returns how many slots of a schedule lie in ranges. It stops beyond most; exact is false then, and n is a lower bound.
func CountSlots(when *schedule.Schedule, most int, ranges ...job.SlotRange) (n int, exact bool) {
	for _, r := range ranges {
		some, all := when.Count(r.From.Add(-1), r.To, most)
		if n += some; !all || n > most {
			return n, false
		}
	}
	return n, true
}
