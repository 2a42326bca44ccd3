package job

// Missed says what happens to slots that passed while no replica could dispatch.
type Missed string

// The missed policies.
const (
	MissedNone   Missed = "none"   // they are skipped
	MissedLatest Missed = "latest" // the latest of them runs, the others are skipped
	MissedAll    Missed = "all"    // all run, oldest first, one after the other, within the window and the limit
)

// MissedPolicies lists every Missed.
func MissedPolicies() []Missed { return []Missed{MissedNone, MissedLatest, MissedAll} }

// Overlap says what happens to a slot while an earlier run of the job is active.
type Overlap string

// The overlap policies.
const (
	OverlapSkip    Overlap = "skip"    // the slot is skipped
	OverlapAllow   Overlap = "allow"   // both run
	OverlapReplace Overlap = "replace" // the earlier run is canceled, then the slot runs
	OverlapQueue   Overlap = "queue"   // the slot waits for the earlier run
)

// OverlapPolicies lists every Overlap.
func OverlapPolicies() []Overlap {
	return []Overlap{OverlapSkip, OverlapAllow, OverlapReplace, OverlapQueue}
}

// Delivery says what happens to an attempt whose worker was lost.
type Delivery string

// The delivery promises.
const (
	AtLeastOnce Delivery = "at_least_once" // it is tried again elsewhere
	AtMostOnce  Delivery = "at_most_once"  // it is never tried again: the run is lost
)

// Deliveries lists every Delivery.
func Deliveries() []Delivery { return []Delivery{AtLeastOnce, AtMostOnce} }

// Backoff says how the delay between attempts grows.
type Backoff string

// The backoffs.
const (
	BackoffConstant    Backoff = "constant"    // always Min
	BackoffLinear      Backoff = "linear"      // Min, 2·Min, 3·Min …
	BackoffExponential Backoff = "exponential" // Min, 2·Min, 4·Min …
)

// Backoffs lists every Backoff.
func Backoffs() []Backoff { return []Backoff{BackoffConstant, BackoffLinear, BackoffExponential} }

// RetryJitter says how a retry's delay is spread.
type RetryJitter string

// The jitters.
const (
	JitterNone RetryJitter = "none" // the delay itself
	JitterFull RetryJitter = "full" // uniform between zero and the delay
)

// RetryJitters lists every RetryJitter.
func RetryJitters() []RetryJitter { return []RetryJitter{JitterNone, JitterFull} }
