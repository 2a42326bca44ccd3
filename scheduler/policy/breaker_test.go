package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

var epoch = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// tries makes attempts from letters, one each second and one second long: s succeeds, f fails, - is a second without an attempt.
func tries(letters string) (list []policy.BreakerAttempt) {
	for i, c := range letters {
		if c != '-' {
			began := epoch.Add(time.Duration(i) * time.Second)
			list = append(list, policy.BreakerAttempt{Began: began, Ended: began.Add(time.Second), Failed: c == 'f'})
		}
	}
	return list
}

func breakerAfter(b *job.Breaker, attempts []policy.BreakerAttempt) (s policy.BreakerState) {
	for _, a := range attempts {
		s.Add(b, a)
	}
	return s
}

func TestBreaker(t *testing.T) {
	b := &job.Breaker{Window: 4, FailureRatio: 0.5, OpenFor: job.Duration(10 * time.Second)}
	const pause = "----------"
	for letters, until := range map[string]int{ // seconds; 0: closed
		"":                                     0,
		"ssss":                                 0,
		"f":                                    0,
		"ff":                                   12, // two failures are enough, even with fewer attempts than the window
		"fsf":                                  13,
		"fssf":                                 14,
		"fsssf":                                0, // the first failure has left the window
		"fssssfsssf":                           0,
		"sssssssff":                            19,
		"ffff":                                 12, // attempts that began before it opened do not count
		"ffss":                                 12,
		"ff" + pause + "f":                     23, // the trial run failed
		"ff" + pause + "f" + "ss":              23,
		"ff" + pause + "f" + pause + "f":       34,
		"ff" + pause + "s":                     0, // the trial run succeeded
		"ff" + pause + "sf":                    0, // the success of the trial run forgets all earlier attempts
		"ff" + pause + "sff":                   25,
		"ff" + pause + "f" + pause + "s" + "f": 0,
	} {
		var at time.Time
		if until > 0 {
			at = epoch.Add(time.Duration(until) * time.Second)
		}
		if got := breakerAfter(b, tries(letters)); got.Open != (until > 0) || !got.Until.Equal(at) || got.Open && got.Failed != 2 {
			t.Errorf("%q: got %+v, want it to be open until %v", letters, got, at)
		}
	}
}

func TestABreakerWithFewerAttemptsOpensNoEarlier(t *testing.T) {
	b := &job.Breaker{Window: 10, FailureRatio: 0.3, OpenFor: job.Duration(time.Second)}
	all := tries(strings.Repeat("ssfsssfsss", 10))
	for i := range all {
		if s := breakerAfter(b, all[i:]); s.Open {
			t.Fatalf("with the attempts from the %dth on it is open: %+v", i, s)
		}
	}
}

func TestBreakerFailures(t *testing.T) {
	for _, c := range []struct {
		window int
		ratio  float64
		want   int
	}{{100, 0.5, 50}, {100, 0.07, 7}, {100, 0.29, 29}, {3, 0.5, 2}, {1, 0.5, 1}, {5, 1, 5}, {10, 0.01, 1}} {
		if got := policy.BreakerFailures(&job.Breaker{Window: c.window, FailureRatio: c.ratio}); got != c.want {
			t.Errorf("%v of %d: got %d, want %d", c.ratio, c.window, got, c.want)
		}
	}
}
