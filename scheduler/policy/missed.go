package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// CountLimit is the largest number of slots of a range that rota counts exactly. It is enough for one slot a minute during two
// weeks. Counting takes about 2 ms.
const CountLimit = 25_000

// Range is a range of slots that will not run.
type Range struct {
	From, To time.Time // the first and the last slot of the range
	Count    int       // number of slots; if Partial, there are at least so many
	Partial  bool
	Reason   string
}

// missedPrefix begins the reason of a missed slot.
const missedPrefix = "missed: "

// IsMissed reports whether a skipped slot with this reason was missed. Other slots are skipped for an overlap, a pause or
// an edit.
func IsMissed(reason string) bool { return strings.HasPrefix(reason, missedPrefix) }

// Missed returns the next range of missed slots that the job's policy skips. It considers the slots that are later than after,
// have a due time earlier than the argument before, and lie in none of the paused intervals. nil means that all these slots
// run, the oldest first.
func Missed(s *schedule.Schedule, spec *job.Spec, after, before, now time.Time, paused []Interval) *Range {
	unpaused := Interval{after, before.Add(-s.Offset() - 1)}.without(paused)
	if spec.Missed == job.MissedNone {
		return firstRange(s, unpaused, before, missedPrefix+"nobody could dispatch at its time, and the job's policy is none")
	}
	if oldest := windowStart(s, spec, now); oldest.After(after) {
		reason := fmt.Sprintf(missedPrefix+"older than the window of %v", spec.MissedWindow)
		if r := firstRange(s, unpaused, oldest.Add(-1), reason); r != nil {
			return r
		}
	}
	keep, reason := 1, missedPrefix+"a later slot runs instead"
	if spec.Missed == job.MissedAll {
		keep = max(1, spec.MissedLimit)
		reason = fmt.Sprintf(missedPrefix+"beyond the limit of %d", keep)
	}
	if atMost(s, unpaused, keep) { // fast path: Missed is called once for each slot that runs, and usually no slot is skipped
		return nil
	}
	var oldest time.Time // the oldest slot that the limit allows to run
	for _, in := range slices.Backward(unpaused) {
		if kept := s.Last(in.After, in.UpTo, keep); len(kept) > 0 {
			oldest, keep = kept[0], keep-len(kept)
		}
		if keep == 0 {
			break
		}
	}
	if oldest.IsZero() {
		return nil
	}
	return firstRange(s, unpaused, oldest.Add(-1), reason)
}

// atMost reports whether the intervals have at most n slots.
func atMost(s *schedule.Schedule, intervals []Interval, n int) bool {
	for _, in := range intervals {
		found, exact := s.Count(in.After, in.UpTo, n)
		if n -= found; n < 0 || !exact {
			return false
		}
	}
	return true
}

// firstRange returns the slots up to upTo in the first interval that has any; nil if none has.
func firstRange(s *schedule.Schedule, intervals []Interval, upTo time.Time, reason string) *Range {
	for _, in := range intervals {
		if r := Between(s, in.After, job.Earlier(in.UpTo, upTo), reason); r != nil {
			return r
		}
	}
	return nil
}

// windowStart returns the time of the oldest slot that may still run; zero if the job has no window.
func windowStart(s *schedule.Schedule, spec *job.Spec, now time.Time) time.Time {
	if spec.MissedWindow <= 0 {
		return time.Time{}
	}
	return now.Add(-spec.MissedWindow.Std() - s.Offset())
}

// Between returns the range of all slots in (after, upTo]; nil if there are none.
func Between(s *schedule.Schedule, after, upTo time.Time, reason string) *Range {
	first, ok := s.Next(after)
	if !ok || first.After(upTo) {
		return nil
	}
	r := &Range{From: first, To: first, Reason: reason}
	if last := s.Last(after, upTo, 1); len(last) == 1 {
		r.To = last[0]
	}
	n, exact := s.Count(after, upTo, CountLimit)
	r.Count, r.Partial = n, !exact
	return r
}
