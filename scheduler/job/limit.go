package job

import "time"

// Limit bounds what the runs that name it do together, in the whole cluster. Stored at limits/<name>.
type Limit struct {
	Name       string    `json:"name"`
	Origin     Origin    `json:"origin"`
	Generation int64     `json:"generation"` // from 1; rises with every change of Spec
	Updated    time.Time `json:"updated"`
	Spec       LimitSpec `json:"spec"`
	Op         string    `json:"op,omitempty"` // id of the write that made this version

	Rev int64 `json:"-"`
}

// LimitSpec is what a job file says about one limit: at least one of the two. Its JSON names are the keys of the file.
type LimitSpec struct {
	Concurrent int  `json:"concurrent,omitempty"` // runs that may be with workers at a time, those armed ahead included; 0: any number
	Rate       Rate `json:"rate,omitzero"`        // of attempts that begin
}

// MaxLimits is how many limits one job may name.
const MaxLimits = 8

// DefineLimit returns the limit that spec makes of cur (nil: there is none) at now, and whether anything changed.
func DefineLimit(cur *Limit, name string, spec LimitSpec, origin Origin, now time.Time) (Limit, bool) {
	switch {
	case cur == nil:
		return Limit{Name: name, Origin: origin, Generation: 1, Updated: now, Spec: spec}, true
	case cur.Spec == spec && cur.Origin == origin:
		return *cur, false
	}
	next := *cur
	if cur.Spec != spec {
		next.Generation++
	}
	next.Origin, next.Updated, next.Spec = origin, now, spec
	return next, true
}

// Breaker holds back a job whose attempts fail: see policy.Breaker.
type Breaker struct {
	Window       int      `json:"window,omitempty"`        // how many attempts it looks back at
	FailureRatio float64  `json:"failure_ratio,omitempty"` // the share of them that has to fail to open it, above 0 and up to 1
	OpenFor      Duration `json:"open_for,omitempty"`      // how long nothing begins, before one run tries
}

// The defaults of Breaker.
const (
	DefaultBreakerWindow  = 100
	DefaultBreakerRatio   = 0.5
	DefaultBreakerOpenFor = Duration(time.Minute)
)
