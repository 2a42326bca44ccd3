package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// CountLimit bounds how far a range of slots is counted exactly: two weeks of minutes, in some 2 ms.
const CountLimit = 25_000

// Range is a stretch of slots that will not run.
type Range struct {
	From, To time.Time // the first and the last of them
	Count    int       // how many; at least so many if Partial
	Partial  bool
	Reason   string
}

// ofMissed begins the reason for which slots are passed over that were missed.
const ofMissed = "missed: "

// IsMissed says whether a slot that does not run for a reason was missed, and not skipped for overlap, a pause or an edit.
func IsMissed(reason string) bool { return strings.HasPrefix(reason, ofMissed) }

// Missed says which of the slots that passed while nobody could dispatch are skipped next: a range of those after after,
// whose time came before before, and that are in none of the stretches of paused. nil if what is left is to run, oldest first.
func Missed(s *schedule.Schedule, spec *job.Spec, after, before, now time.Time, paused []Stretch) *Range {
	owed := Stretch{after, before.Add(-s.Offset() - 1)}.between(paused)
	if spec.Missed == job.MissedNone {
		return firstOf(s, owed, before, ofMissed+"nobody could dispatch at its time, and the job's policy is none")
	}
	if oldest := windowStart(s, spec, now); oldest.After(after) {
		if r := firstOf(s, owed, oldest.Add(-1), fmt.Sprintf(ofMissed+"older than the window of %v", spec.MissedWindow)); r != nil {
			return r
		}
	}
	keep, reason := 1, ofMissed+"a later slot runs instead"
	if spec.Missed == job.MissedAll {
		keep = max(1, spec.MissedLimit)
		reason = fmt.Sprintf(ofMissed+"beyond the limit of %d", keep)
	}
	if fit(s, owed, keep) { // as nearly always, and cheaper to tell: this is asked again for each slot that runs
		return nil
	}
	var oldest time.Time // of those that are kept
	for _, o := range slices.Backward(owed) {
		if kept := s.Last(o.After, o.UpTo, keep); len(kept) > 0 {
			oldest, keep = kept[0], keep-len(kept)
		}
		if keep == 0 {
			break
		}
	}
	if oldest.IsZero() {
		return nil
	}
	return firstOf(s, owed, oldest.Add(-1), reason)
}

// fit says whether there are at most n slots in the stretches.
func fit(s *schedule.Schedule, owed []Stretch, n int) bool {
	for _, o := range owed {
		found, exact := s.Count(o.After, o.UpTo, n)
		if n -= found; n < 0 || !exact {
			return false
		}
	}
	return true
}

// firstOf is the range of slots up to upTo in the first of the stretches that has any, or nil.
func firstOf(s *schedule.Schedule, owed []Stretch, upTo time.Time, reason string) *Range {
	for _, o := range owed {
		if r := Between(s, o.After, job.Earlier(o.UpTo, upTo), reason); r != nil {
			return r
		}
	}
	return nil
}

// windowStart is the oldest slot that may still run; the zero time if there is no window.
func windowStart(s *schedule.Schedule, spec *job.Spec, now time.Time) time.Time {
	if spec.MissedWindow <= 0 {
		return time.Time{}
	}
	return now.Add(-spec.MissedWindow.Std() - s.Offset())
}

// Between is the range of all slots in (after, upTo], or nil if there are none.
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
