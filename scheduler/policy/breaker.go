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

// Breaker returns the state of the breaker after attempts, which are in the order of their ends. counted is how many of
// them counted.
//
// The breaker opens when failure_ratio × window of the latest window attempts have failed. It needs that many failures even
// if there have been fewer attempts, so forgotten attempts count as successes. After open_for, one run at a time may try: a
// success closes the breaker and forgets all earlier attempts, and a failure opens it again. Attempts that began before and
// end meanwhile do not count.
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

// BreakerLookBack returns how many of a job's latest counted attempts a leader must remember for b: those that opened the
// breaker, and as many that have ended since. It is 0 if b is nil.
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
