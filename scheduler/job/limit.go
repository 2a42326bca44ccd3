package job

import "time"

// Limit bounds the concurrency and the rate of all runs that name it, in the whole cluster. Stored at limits/<name>.
type Limit = Definition[LimitSpec]

// LimitSpec is what a job file says about one limit; at least one field is set. Its JSON names are the keys of the file.
type LimitSpec struct {
	Concurrent int  `json:"concurrent,omitempty"` // armed and running runs at a time; 0: any number
	Rate       Rate `json:"rate,omitzero"`        // at which attempts begin; zero: any
}

// MaxLimits is how many limits one job may name.
const MaxLimits = 8

// DefineLimit is Define for a limit.
func DefineLimit(cur *Limit, name string, spec LimitSpec, origin Origin, now time.Time) (Limit, bool) {
	return define(cur, name, spec, origin, now)
}

// Breaker suspends a job whose attempts fail: see policy.Breaker.
type Breaker struct {
	Window       int      `json:"window,omitempty"`        // the number of latest attempts that it counts
	FailureRatio float64  `json:"failure_ratio,omitempty"` // the share of failures that opens it, above 0 and up to 1
	OpenFor      Duration `json:"open_for,omitempty"`      // how long no run begins, before one run probes
}

// The defaults of Breaker.
const (
	DefaultBreakerWindow  = 100
	DefaultBreakerRatio   = 0.5
	DefaultBreakerOpenFor = Duration(time.Minute)
)
