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

// Range is the range of a field of a definition. Both bounds belong to it.
type Range[T cmp.Ordered] struct{ Low, High T }

// Holds reports whether v is in the range.
func (r Range[T]) Holds(v T) bool { return r.Low <= v && v <= r.High }

// check returns an error for a value out of the range. The zero value is accepted: it stands for a field that is not given.
func (r Range[T]) check(field string, v T) error {
	var absent T
	if v == absent || r.Holds(v) {
		return nil
	}
	return fmt.Errorf("%s %v is not between %v and %v", field, v, r.Low, r.High)
}

// MaxDuration is the longest duration in a definition.
const MaxDuration = Duration(10 * 365 * 24 * time.Hour)

// The ranges of the fields of breakers, resources, limits and workers.
var (
	BreakerWindowRange  = Range[int]{1, 1000}
	BreakerRatioRange   = Range[float64]{math.SmallestNonzeroFloat64, 1}
	BreakerOpenForRange = Range[Duration]{1, MaxDuration}

	// MemoryRange and the ranges below have lower bounds, so that a typing error does not define a job that can never run.
	MemoryRange = Range[Size]{1 << 20, 1 << 50}
	CPURange    = Range[CPUs]{10, 10_000 * 1000} // from the least that the kernel can limit
	PIDsRange   = Range[int]{1, 1 << 22}         // to the most that the kernel can count

	ConcurrentRange = Range[int]{1, 1_000_000} // of a limit
	CapacityRange   = Range[int]{1, 100_000}   // of a worker; each run takes about 20 KB while it waits or executes
)

func (b *Breaker) check() error {
	return cmp.Or(
		BreakerWindowRange.check("breaker.window", b.Window),
		BreakerRatioRange.check("breaker.failure_ratio", b.FailureRatio),
		BreakerOpenForRange.check("breaker.open_for", b.OpenFor),
	)
}

func (r *Resources) check() error {
	return cmp.Or(
		MemoryRange.check("resources.memory", r.Memory),
		CPURange.check("resources.cpu", r.CPU),
		PIDsRange.check("resources.pids", r.PIDs),
	)
}

// Scheduled reports whether the job has slots of its own.
func (s *Spec) Scheduled() bool { return len(s.Schedule) > 0 || s.Every != 0 || len(s.At) > 0 }

// Bound returns how long an attempt may take until its worker has ended it.
func (s *Spec) Bound() Duration {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return timeout + s.KillGrace
}

// MaxSpec is the largest definition of a job, in bytes of JSON. A record of 512 KiB has room for it and for the job's state.
const MaxSpec = 384 << 10

// Size returns how many bytes s takes as JSON in the store. It returns 0 if the payload is not JSON.
func (s *Spec) Size() int {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return 0
	}
	return b.Len() - len("\n")
}

// MaxToldPayload is the largest payload that a program can get, in bytes. Linux limits one environment variable to 128
// KiB, including its name and the zero byte at its end.
const MaxToldPayload = 128<<10 - len("ROTA_PAYLOAD=") - 1

// CheckPayload returns an error if p is larger than the action of s can take.
func (s *Spec) CheckPayload(p json.RawMessage) error {
	if len(p) <= MaxToldPayload || !s.RunsProgram() {
		return nil
	}
	return fmt.Errorf("payload has %d bytes as JSON, at most %d are allowed for a program: Linux takes no more in one variable",
		len(p), MaxToldPayload)
}

// Check returns an error if a field of s is out of its range.
func (s LimitSpec) Check() error { return ConcurrentRange.check("concurrent", s.Concurrent) }

// known returns an error unless v is one of all. An empty v stands for a field that is not given.
func known[T ~string](field string, v T, all []T) error {
	if v == "" || slices.Contains(all, v) {
		return nil
	}
	return fmt.Errorf("%s %.40q is not known", field, v)
}
