package policy

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Stretch is a stretch of slots: those after After, up to UpTo.
type Stretch struct{ After, UpTo time.Time }

// Holds says whether slot lies in the stretch.
func (s Stretch) Holds(slot time.Time) bool { return slot.After(s.After) && !slot.After(s.UpTo) }

// Paused returns where the slots after after lie that are not owed: those that passed in one of these pauses of the job or of
// all jobs, and those whose time, offset later, came in one. Between the two may lie slots that are owed, if offset is longer
// than the pause: they passed before it, and their time comes after it. The stretches are in order and do not touch.
func Paused(offset time.Duration, after time.Time, pauses ...[]job.PastPause) []Stretch {
	var list []Stretch
	for _, of := range pauses {
		for _, p := range of {
			for _, d := range []time.Duration{0, offset} {
				if s := (Stretch{p.From.Add(-d), p.Until.Add(-d)}); s.UpTo.After(after) && s.UpTo.After(s.After) {
					list = append(list, s)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Stretch) int { return a.After.Compare(b.After) })
	merged := list[:0]
	for _, s := range list {
		if n := len(merged); n > 0 && !s.After.After(merged[n-1].UpTo) {
			merged[n-1].UpTo = job.Later(merged[n-1].UpTo, s.UpTo)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// between returns what is left of s without those of paused, which are in order.
func (s Stretch) between(paused []Stretch) (owed []Stretch) {
	for _, p := range paused {
		if !p.After.Before(s.UpTo) {
			break
		}
		if p.After.After(s.After) {
			owed = append(owed, Stretch{s.After, p.After})
		}
		s.After = job.Later(s.After, p.UpTo)
	}
	if s.UpTo.After(s.After) {
		owed = append(owed, s)
	}
	return owed
}
