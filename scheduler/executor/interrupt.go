package executor

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Causes with which a worker ends the context of an attempt. A cause may wrap one of them to say more. Its text becomes the
// reason of the outcome.
var (
	// ErrTimeout says that the deadline has passed. The attempt is timed out.
	ErrTimeout = errors.New("timed out")
	// ErrCanceled says that cancellation was requested, or that an overlapping run replaces the run. The attempt is canceled.
	ErrCanceled = errors.New("canceled")
	// ErrStopping says that the worker stops. The attempt is lost, and may be retried on another worker.
	ErrStopping = errors.New(job.WorkerStopped)
	// ErrFenced says that the worker's lease or the attempt's token is no longer valid. The attempt is lost.
	ErrFenced = errors.New("worker lost its lease")
)

// Interrupted returns the outcome of an attempt whose context ended, at the given time; false if ctx has not ended. If the
// cause is none of the errors above, the job is not responsible, and the attempt is lost.
func Interrupted(ctx context.Context, req *Request, at time.Time) (job.Outcome, bool) {
	cause := context.Cause(ctx)
	if cause == nil {
		return job.Outcome{}, false
	}
	o := job.Outcome{State: job.Lost, At: at, Reason: cause.Error()}
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		o.State, o.Retry = job.TimedOut, true
		// A cause that wraps one of these two errors has a more precise text. So the errors are compared with ==, and not by
		// errors.Is.
		plain := cause == ErrTimeout || cause == context.DeadlineExceeded //nolint:errorlint // see above
		if plain && req.Spec.Timeout > 0 {
			o.Reason = ErrTimeout.Error() + " after " + req.Spec.Timeout.String()
		}
	case errors.Is(cause, ErrCanceled):
		o.State = job.Canceled
	case errors.Is(cause, ErrStopping), errors.Is(cause, ErrFenced):
		o.Retry = true
	default:
		o.Reason, o.Retry = "attempt was interrupted: "+cause.Error(), true
	}
	return o, true
}

// NoDescriptor reports whether err says that this process, or its machine, can open no more files and connections. The job did not
// cause that.
func NoDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// NotBegun returns the outcome of an attempt that the machine could not start, because of err. The worker accepts no runs for a
// while. The attempt may be repeated, even with at_most_once.
func NotBegun(err error) job.Outcome {
	return job.Outcome{State: job.Lost, Reason: err.Error() + ", " + job.NotBegun, Retry: true, NotBegun: true}
}

// KindAway returns the outcome of an attempt that could not start because of err, which concerns attempts of its kind alone: no
// container engine answers. The worker accepts no runs of this kind until its Checker succeeds.
func KindAway(err error) job.Outcome {
	o := NotBegun(err)
	o.KindAway = !NoDescriptor(err)
	return o
}
