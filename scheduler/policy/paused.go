package policy

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Interval contains the slots that are later than After and not later than UpTo.
type Interval struct{ After, UpTo time.Time }

// Holds reports whether the interval contains slot.
func (in Interval) Holds(slot time.Time) bool { return slot.After(in.After) && !slot.After(in.UpTo) }

// Paused returns the intervals, later than after, in which a pause of the job or of all jobs prevents slots from running. A
// slot does not run if the slot, or its due time, lies in a pause. The due time is the slot plus offset. If offset is longer
// than the pause, the pause has two intervals, and the slots between them run. The intervals are in order and do not touch.
func Paused(offset time.Duration, after time.Time, pauses ...[]job.PastPause) []Interval {
	var list []Interval
	for _, of := range pauses {
		for _, p := range of {
			for _, d := range []time.Duration{0, offset} {
				if in := (Interval{p.From.Add(-d), p.Until.Add(-d)}); in.UpTo.After(after) && in.UpTo.After(in.After) {
					list = append(list, in)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Interval) int { return a.After.Compare(b.After) })
	merged := list[:0]
	for _, in := range list {
		if n := len(merged); n > 0 && !in.After.After(merged[n-1].UpTo) {
			merged[n-1].UpTo = job.Later(merged[n-1].UpTo, in.UpTo)
			continue
		}
		merged = append(merged, in)
	}
	return merged
}

// NextUnpaused returns the first slot after the given time that lies in none of the paused intervals, which are in order. skippedTo
// is the end of the last interval that skips a slot before next, zero if none does. more is false if there is no such slot.
func NextUnpaused(s *schedule.Schedule, after time.Time, paused []Interval) (next, skippedTo time.Time, more bool) {
	next, more = s.Next(after)
	for _, in := range paused {
		if more && in.Holds(next) {
			skippedTo = in.UpTo
			next, more = s.Next(skippedTo)
		}
	}
	return next, skippedTo, more
}

// NextSlot returns the next slot of a job that a leader decides, as if neither the job nor all jobs were paused now. false means
// that there is none. when is the schedule of the job. A nil cursor has passed no slot.
func NextSlot(j *job.Job, when *schedule.Schedule, cursor *job.Cursor, gate *job.Gate) (time.Time, bool) {
	after := SlotsAfter(j, when)
	if cursor != nil {
		after = job.Later(after, cursor.After)
	}
	next, _, ok := NextUnpaused(when, after, Paused(when.Offset(), after, j.PauseHistory(), gate.PauseHistory()))
	return next, ok
}

// without returns the parts of in that lie outside the paused intervals, which are in order.
func (in Interval) without(paused []Interval) (parts []Interval) {
	for _, p := range paused {
		if !p.After.Before(in.UpTo) {
			break
		}
		if p.After.After(in.After) {
			parts = append(parts, Interval{in.After, p.After})
		}
		in.After = job.Later(in.After, p.UpTo)
	}
	if in.UpTo.After(in.After) {
		parts = append(parts, in)
	}
	return parts
}
