package policy

import (
	"math"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Tried is one attempt that succeeded, failed or timed out. What became of the others says nothing of the target.
type Tried struct {
	Began, Ended time.Time
	Failed       bool
}

// BreakerState says whether a job's runs may begin. The zero state is closed: they may.
type BreakerState struct {
	Open   bool
	Until  time.Time // nothing begins before it, if it is open; from then on one run at a time may
	Failed int       // how many of the latest attempts had failed when it opened
}

// Breaker says how the breaker stands after the attempts tried, in the order of their ends, and how many of them counted.
//
// It opens as soon as failure_ratio × window of the latest window attempts have failed, also while there have been fewer
// attempts than that. So that many failures are needed in any case, and attempts that are not known any more count as good.
// After open_for one run may try: a success closes it and all before is forgotten, a failure opens it anew. What began
// before and ends meanwhile changes nothing.
func Breaker(b *job.Breaker, tried []Tried) (s BreakerState, counted int) {
	needed := BreakerFailures(b)
	from, failed := 0, 0 // of the window, and how many in it
	for i, t := range tried {
		if s.Open && t.Began.Before(s.Until) {
			continue
		}
		counted++
		switch {
		case s.Open && !t.Failed:
			s, from, failed = BreakerState{}, i+1, 0
			continue
		case s.Open:
			s.Until = t.Ended.Add(b.OpenFor.Std())
			continue
		}
		if t.Failed {
			failed++
		}
		if i-from == b.Window {
			if tried[from].Failed {
				failed--
			}
			from++
		}
		if failed >= needed {
			s = BreakerState{Open: true, Until: t.Ended.Add(b.OpenFor.Std()), Failed: failed}
		}
	}
	return s, counted
}

// BreakerLookBack is how many of a job's latest attempts that count are kept for b: those that opened it, and as many that have
// ended since. 0 if b is nil.
func BreakerLookBack(b *job.Breaker) int {
	if b == nil {
		return 0
	}
	return 2 * b.Window
}

// BreakerFailures is how many of the latest attempts have to fail to open b.
func BreakerFailures(b *job.Breaker) int {
	const rounding = 1e-9
	return max(1, int(math.Ceil(b.FailureRatio*float64(b.Window)-rounding)))
}
