package job

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Range is what a field of a definition may be.
type Range[T cmp.Ordered] struct{ Low, High T }

// Holds says whether v is in the range.
func (r Range[T]) Holds(v T) bool { return r.Low <= v && v <= r.High }

// check refuses a field that is out of the range. The zero value is that of a field which is not given.
func (r Range[T]) check(field string, v T) error {
	var absent T
	if v == absent || r.Holds(v) {
		return nil
	}
	return fmt.Errorf("%s %v is not between %v and %v", field, v, r.Low, r.High)
}

// MaxDuration is longer than anything that a definition may last.
const MaxDuration = Duration(10 * 365 * 24 * time.Hour)

// What the fields of a definition may be. Job files are held to it, and so is what a hand puts into the store: what is done
// with a definition counts on it.
var (
	EveryRange        = Range[Duration]{1, MaxDuration}
	JitterRange       = Range[Duration]{0, Duration(24*time.Hour) - 1}
	MissedWindowRange = Range[Duration]{0, MaxDuration}
	MissedLimitRange  = Range[int]{1, 10_000}
	TimeoutRange      = Range[Duration]{1, MaxDuration}
	KillGraceRange    = Range[Duration]{1, Duration(time.Hour)}
	HeartbeatRange    = Range[Duration]{Duration(time.Second), MaxDuration} // less than that is the machine's own noise
	PriorityRange     = Range[int]{-1000, 1000}

	RetryMaxRange   = Range[int]{0, 1000}
	RetryDelayRange = Range[Duration]{1, MaxDuration}

	BreakerWindowRange  = Range[int]{1, 1000}
	BreakerRatioRange   = Range[float64]{math.SmallestNonzeroFloat64, 1}
	BreakerOpenForRange = Range[Duration]{1, MaxDuration}

	// The lower ones keep a typing error from being a job that can never run.
	MemoryRange = Range[Size]{1 << 20, 1 << 50}
	CPURange    = Range[CPUs]{10, 10_000 * 1000} // from what the kernel can do
	PIDsRange   = Range[int]{1, 1 << 22}         // to what the kernel can count

	ConcurrentRange = Range[int]{1, 1_000_000} // of a limit
	CapacityRange   = Range[int]{1, 100_000}   // of a worker, where each run takes some 20 KB while it waits for its time or executes
)

// MaxSpec is the most that a job may say as a whole, in bytes of JSON. It leaves room, in a record of 512 KiB, for what is known of
// the job beside it.
const MaxSpec = 384 << 10

// Size is how many bytes s takes as JSON in the store; 0 if its payload is no JSON.
func (s *Spec) Size() int {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return 0
	}
	return b.Len() - len("\n")
}

// MaxToldPayload is the longest payload that a program can be told, in bytes: Linux takes 128 KiB in one variable, with its name
// and the byte at its end.
const MaxToldPayload = 128<<10 - len("ROTA_PAYLOAD=") - 1

// CheckPayload says why p cannot be told to what s executes; nil if it can.
func (s *Spec) CheckPayload(p json.RawMessage) error {
	if len(p) <= MaxToldPayload || len(s.Command) == 0 && s.Shell == "" {
		return nil
	}
	return fmt.Errorf("payload has %d bytes as JSON, at most %d are allowed for a program: Linux takes no more in one variable",
		len(p), MaxToldPayload)
}

// Check says which field of s is not what it may be, or that it does not do one thing; nil if all is well. It allocates nothing
// then: a leader that starts asks it of all definitions. What there is to say about the job's schedule says package schedule.
func (s *Spec) Check() error {
	err := cmp.Or(
		s.checkAction(),
		EveryRange.check("every", s.Every),
		JitterRange.check("jitter", s.Jitter),
		known("missed", s.Missed, MissedPolicies()),
		MissedWindowRange.check("missed_window", s.MissedWindow),
		MissedLimitRange.check("missed_limit", s.MissedLimit),
		known("overlap", s.Overlap, OverlapPolicies()),
		known("delivery", s.Delivery, Deliveries()),
		TimeoutRange.check("timeout", s.Timeout),
		KillGraceRange.check("kill_grace", s.KillGrace),
		HeartbeatRange.check("heartbeat", s.Heartbeat),
		PriorityRange.check("priority", s.Priority),
	)
	if r := s.Retry; err == nil && r != nil {
		err = cmp.Or(
			RetryMaxRange.check("retry max", r.Max),
			known("backoff", r.Backoff, Backoffs()),
			RetryDelayRange.check("retry min", r.Min),
			RetryDelayRange.check("max_delay", r.MaxDelay),
			known("retry jitter", r.Jitter, RetryJitters()),
		)
	}
	if b := s.Breaker; err == nil && b != nil {
		err = cmp.Or(
			BreakerWindowRange.check("window", b.Window),
			BreakerRatioRange.check("failure_ratio", b.FailureRatio),
			BreakerOpenForRange.check("open_for", b.OpenFor),
		)
	}
	if r := s.Resources; err == nil && r != nil {
		err = cmp.Or(
			MemoryRange.check("memory", r.Memory),
			CPURange.check("cpu", r.CPU),
			PIDsRange.check("pids", r.PIDs),
		)
	}
	return err
}

// checkAction refuses what says nothing to execute, or several things.
func (s *Spec) checkAction() error {
	actions := 0
	for _, given := range [...]bool{len(s.Command) > 0, s.Shell != "", s.HTTP != nil, s.Handler != ""} {
		if given {
			actions++
		}
	}
	if actions != 1 {
		return fmt.Errorf("it has %d of command, shell, http and handler, and needs exactly one", actions)
	}
	return nil
}

// Check says which field of s is not what it may be; nil if all are.
func (s LimitSpec) Check() error { return ConcurrentRange.check("concurrent", s.Concurrent) }

// known refuses a word that is not among those that mean something. "" is one that is not given.
func known[T ~string](field string, v T, all []T) error {
	if v == "" || slices.Contains(all, v) {
		return nil
	}
	return fmt.Errorf("%s %.40q is not known", field, v)
}
