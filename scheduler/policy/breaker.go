package policy

import (
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// BreakerAttempt is an attempt that succeeded, failed or timed out. Other attempts do not count, since they say nothing
// about the target.
type BreakerAttempt struct {
	Began, Ended time.Time
	Failed       bool
}

// BreakerState says whether a job's runs may begin. The zero state is closed: they may.
//
// The breaker opens when, of the latest Window attempts, at least FailureRatio × Window have failed. If there have been fewer
// attempts, it needs the same number of failures: missing attempts count as successes. After OpenFor, one run at a time may
// start as a probe. If the probe succeeds, the breaker closes and forgets all earlier attempts. If it fails, the breaker opens
// again. Attempts that began before OpenFor had passed do not count while the breaker is open.
type BreakerState struct {
	Open   bool
	Until  time.Time // if open: no run begins before it, and from then on one run at a time may begin
	Failed int       // number of failed attempts in the window; if open, when it opened
	latest []bool    // the attempts in the window, the earliest first: whether they failed
}

// Add takes in an attempt that ended after all attempts before.
func (s *BreakerState) Add(b *job.Breaker, a BreakerAttempt) {
	switch {
	case s.Open && a.Began.Before(s.Until):
		return
	case s.Open && a.Failed:
		s.Until = a.Ended.Add(b.OpenFor.Std())
		return
	case s.Open:
		*s = BreakerState{}
		return
	}
	s.latest = append(s.latest, a.Failed)
	if a.Failed {
		s.Failed++
	}
	if len(s.latest) > b.Window {
		if s.latest[0] {
			s.Failed--
		}
		s.latest = s.latest[1:]
	}
	if s.Failed >= BreakerFailures(b) {
		*s = BreakerState{Open: true, Until: a.Ended.Add(b.OpenFor.Std()), Failed: s.Failed}
	}
}

// Clone returns a copy. Add to one does not change the other.
func (s *BreakerState) Clone() BreakerState {
	c := *s
	c.latest = slices.Clone(s.latest)
	return c
}

// BreakerLookBack returns how many of a job's latest attempts are kept for b. It is two windows: the attempts that
// opened the breaker, and those that have ended since. It is 0 if b is nil.
func BreakerLookBack(b *job.Breaker) int {
	if b == nil {
		return 0
	}
	return 2 * b.Window
}

// BreakerFailures returns how many of the latest attempts must fail to open b.
func BreakerFailures(b *job.Breaker) int {
	const rounding = 1e-9
	return max(1, int(math.Ceil(b.FailureRatio*float64(b.Window)-rounding)))
}
