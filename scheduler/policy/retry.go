package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// exitTempFail is the exit code by which a command asks for a retry: EX_TEMPFAIL of sysexits.h.
const exitTempFail = 75

// AskedRetries is the number of retries of a job without a retry policy, if its command exits with exitTempFail or its request
// fails.
const AskedRetries = 3

// MaxLost is how many workers one run may cost. Then the run is lost too, since it probably kills its workers.
// Workers do not count if the attempt had not begun, or if they were asked to stop.
const MaxLost = 5

// EndedAttempt is an attempt that has ended, with everything that DecideRetry takes into account.
type EndedAttempt struct {
	Spec    *job.Spec   // what the run executes; nil: the job was deleted, and GivenUp must be true
	Run     *job.Run    // the record, in which the attempt is still open.
	Outcome job.Outcome // how the attempt ended
	Now     time.Time   // by the leader's clock
	Random  float64     // in [0,1): spreads the delays of full jitter

	NotBegun bool // the work never began, so it may be repeated, also with at_most_once
	GivenUp  bool // the leader ended the attempt, and it may still be executing
}

// Retry is the decision that a run gets another attempt.
type Retry struct {
	Due    time.Time `json:"due"`    // the next attempt begins at this time at the earliest
	Reason string    `json:"reason"` // why the run waits
}

// DecideRetry decides whether another attempt follows one that has ended. No other code decides that: a worker calls it when an
// attempt ends, and a leader calls it when it gives an attempt up. It returns the outcome to record and the retry. If the retry
// is nil, the run ends with the outcome, whose reason says why there is no retry.
//
// A lost attempt is retried at once or after the delay of its outcome, unless its job is delivered at most once or MaxLost workers
// were lost during its attempts.
// An attempt that the leader gave up after its timeout may still be executing: with at_most_once, a retry could repeat its
// work, so it counts as lost. A run whose cancellation was requested is never retried.
func DecideRetry(e EndedAttempt) (job.Outcome, *Retry) {
	o := e.Outcome
	if o.State != job.Lost && !e.GivenUp {
		return e.retryKnown(o)
	}
	switch {
	case e.Run.Cancel != nil:
		o.State, o.Reason = job.Canceled, JoinReasons(o.Reason, e.Run.Cancel.Reason)
	case e.Spec == nil:
		o.State, o.Reason = job.Lost, JoinReasons(o.Reason, "the job was deleted")
	case e.Spec.Delivery == job.AtMostOnce && !e.NotBegun:
		o.State, o.Reason = job.Lost, JoinReasons(o.Reason, "its delivery is at_most_once")
	case o.State != job.Lost:
		return e.retryKnown(o)
	case job.CostsWorker(o.Reason) && e.Run.WorkersLost()+1 >= MaxLost:
		o.Reason = JoinReasons(o.Reason, fmt.Sprintf("lost %d workers", e.Run.WorkersLost()+1))
	default:
		again := &Retry{Due: job.Later(e.Now.Add(o.After), e.Run.Due), Reason: "tried again after losing worker " + e.Run.Worker}
		if o.After > 0 {
			again.Reason = fmt.Sprintf("tried again after %v, since its attempt could not begin", o.After)
		}
		return o, again
	}
	return o, nil
}

// retryKnown decides about an attempt whose end is known, with outcome o.
//
// A failed attempt is retried if its outcome allows it (o.Retry), and one that timed out always. If the job's retry policy names
// codes, these decide instead about attempts that timed out or have a code. The job's retry policy limits
// the number of retries. Without a policy nothing is retried, with two exceptions: a command that exits with exitTempFail, and
// a failed request that may be repeated. These get AskedRetries with the default delays. Lost attempts do not count. The delay
// that a target asks for (o.After) is a lower bound under every policy.
func (e *EndedAttempt) retryKnown(o job.Outcome) (job.Outcome, *Retry) {
	retryable := o.State == job.TimedOut || o.State == job.Failed && o.Retry
	if r := e.Spec.Retry; r != nil && len(r.On) > 0 && (o.State == job.TimedOut || o.State == job.Failed && o.Exit != nil) {
		retryable = slices.ContainsFunc(r.On, func(on job.RetryOn) bool { return on.Matches(&o) })
	}
	if !retryable || e.Run.Cancel != nil {
		return o, nil
	}
	retry := e.Spec.Retry
	if retry == nil && asksForRetry(e.Spec, o) {
		retry = job.Spec{Retry: &job.Retry{Max: AskedRetries}}.WithDefaults().Retry
	}
	if retry == nil || retry.Max <= 0 {
		return o, nil
	}
	// r.Attempts cannot be counted: a record with many attempts keeps only some of them. So the number of the attempt is used.
	failed := max(1, e.Run.Attempt-e.Run.LostAttempts())
	if failed > retry.Max {
		retries := "retries"
		if retry.Max == 1 {
			retries = "retry"
		}
		o.Reason = JoinReasons(o.Reason, fmt.Sprintf("gave up after %d %s", retry.Max, retries))
		return o, nil
	}
	wait := backoff(retry, failed)
	if retry.Jitter == job.JitterFull {
		wait = time.Duration(e.Random * float64(wait))
	}
	due := e.Now.Add(max(wait, o.After)).Round(0)
	return o, &Retry{Due: due, Reason: fmt.Sprintf("retry %d of %d", failed, retry.Max)}
}

// JoinReasons joins two reasons of a record, each of which may be empty.
func JoinReasons(reason, more string) string {
	if reason == "" || more == "" {
		return reason + more
	}
	return reason + "; " + more
}

// asksForRetry reports whether the attempt itself asked for a retry. A request that failed without an answer may have been
// served, so it is not repeated if the job is delivered at most once.
func asksForRetry(spec *job.Spec, o job.Outcome) bool {
	if spec.HTTP != nil {
		return o.State == job.Failed && spec.Delivery != job.AtMostOnce
	}
	return spec.RunsProgram() && o.Exit != nil && *o.Exit == exitTempFail
}

// backoff returns the delay before the nth retry, without jitter. n counts from 1.
func backoff(r *job.Retry, n int) time.Duration {
	first, longest := r.Min.Std(), r.MaxDelay.Std()
	if longest <= 0 {
		longest = math.MaxInt64
	}
	factor := int64(1)
	switch r.Backoff {
	case job.BackoffLinear:
		factor = int64(n)
	case job.BackoffExponential:
		factor = math.MaxInt64
		if n <= 62 {
			factor = 1 << (n - 1)
		}
	}
	if first > longest/time.Duration(factor) {
		return longest
	}
	return first * time.Duration(factor)
}
