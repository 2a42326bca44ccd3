package policy

import (
	"math"
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
type BreakerState struct {
	Open   bool
	Until  time.Time // if open: no run begins before it, and from then on one run at a time may begin
	Failed int       // number of failed attempts in the window when the breaker opened
}

// Breaker returns the state of the breaker after attempts, which are in the order of their ends. counted is the number of
// attempts that the breaker takes into account.
//
// The breaker opens when, of the latest b.Window attempts, at least FailureRatio × Window have failed. If there have been fewer
// attempts, it needs the same number of failures: missing attempts count as successes. After OpenFor, one run at a time may
// start as a trial. If the trial succeeds, the breaker closes and forgets all earlier attempts. If it fails, the breaker opens
// again. Attempts that began before OpenFor had passed do not count while the breaker is open.
func Breaker(b *job.Breaker, attempts []BreakerAttempt) (s BreakerState, counted int) {
	needed := BreakerFailures(b)
	from, failed := 0, 0 // start of the window, and failures in it
	for i, a := range attempts {
		if s.Open && a.Began.Before(s.Until) {
			continue
		}
		counted++
		switch {
		case s.Open && !a.Failed:
			s, from, failed = BreakerState{}, i+1, 0
			continue
		case s.Open:
			s.Until = a.Ended.Add(b.OpenFor.Std())
			continue
		}
		if a.Failed {
			failed++
		}
		if i-from == b.Window {
			if attempts[from].Failed {
				failed--
			}
			from++
		}
		if failed >= needed {
			s = BreakerState{Open: true, Until: a.Ended.Add(b.OpenFor.Std()), Failed: failed}
		}
	}
	return s, counted
}

// BreakerLookBack returns how many of a job's latest counted attempts a leader must remember for b. It is two windows: the
// attempts that opened the breaker, and those that have ended since. It is 0 if b is nil.
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
