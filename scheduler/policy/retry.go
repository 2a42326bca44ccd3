package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// ExitTempFail is the exit code with which a command asks for another attempt: EX_TEMPFAIL of sysexits.h.
const ExitTempFail = 75

// AskedRetries is how many further attempts a command gets by ExitTempFail, and a request by what its target answers, when
// the job has no retry policy.
const AskedRetries = 3

// MaxLost is how many workers one run may cost: with the loss of the last of them the run is lost too, since then it is
// probably the run that kills its workers. Attempts that had not begun, or whose worker was told to stop, do not count.
const MaxLost = 5

// Retry says whether an attempt that ended with o is followed by another one, not before due. run is the record with
// that attempt still open; random, in [0,1), spreads the delay. reason says what becomes of the run where o alone does
// not; it is empty when there is nothing to add.
//
// An attempt that failed is tried again if its outcome allows (o.Retry); one that timed out, always. How often says the job's
// retry policy. Without a policy nothing is tried again, but for a command that exits with ExitTempFail and a request that failed
// and may be repeated: these get AskedRetries with the default delays. Attempts that cost their worker are not counted here; see
// Lost. A run whose end somebody asked for is never tried again. A target's wish (o.After) is a lower bound of the delay,
// whatever the policy.
func Retry(spec *job.Spec, run *job.Run, o job.Outcome, now time.Time, random float64) (due time.Time, reason string, again bool) {
	retryable := o.State == job.TimedOut || o.State == job.Failed && o.Retry
	if !retryable || run.Cancel != nil {
		return time.Time{}, "", false
	}
	retry := spec.Retry
	if retry == nil && asksAgain(spec, o) {
		retry = job.Spec{Retry: &job.Retry{Max: AskedRetries}}.WithDefaults().Retry
	}
	if retry == nil || retry.Max <= 0 {
		return time.Time{}, "", false
	}
	// By number, since a record keeps only some of the attempts of a long-suffering run.
	failed := max(1, run.Attempt-run.LostAttempts())
	if failed > retry.Max {
		return time.Time{}, fmt.Sprintf("gave up after %d retries", retry.Max), false
	}
	wait := backoff(retry, failed)
	if retry.Jitter == job.JitterFull {
		wait = time.Duration(random * float64(wait))
	}
	return now.Add(max(wait, o.After)), fmt.Sprintf("retry %d of %d", failed, retry.Max), true
}

// Lost says whether an attempt that was lost, as why says, is followed by another one, at once. run is the record with that
// attempt still open. reason says why, in either case.
func Lost(spec *job.Spec, run *job.Run, why string) (again bool, reason string) {
	lost := run.WorkersLost() + 1
	switch {
	case run.Cancel != nil:
		return false, "its end was asked for"
	case spec.Delivery == job.AtMostOnce:
		return false, "its delivery is at_most_once"
	case job.CostsWorker(why) && lost >= MaxLost:
		return false, fmt.Sprintf("lost %d workers", lost)
	}
	return true, fmt.Sprintf("tried again after losing worker %s", run.Worker)
}

// asksAgain says whether the attempt asked for another one in so many words. A request that failed without an answer may have
// been served, so one that may be delivered once is not repeated.
func asksAgain(spec *job.Spec, o job.Outcome) bool {
	if spec.HTTP != nil {
		return o.State == job.Failed && spec.Delivery != job.AtMostOnce
	}
	command := len(spec.Command) > 0 || spec.Shell != ""
	return command && o.Exit != nil && *o.Exit == ExitTempFail
}

// backoff is the delay before the nth retry, n from 1, without jitter.
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
