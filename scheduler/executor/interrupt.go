package executor

import (
	"context"
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The causes with which a worker ends an attempt's context. A cause may wrap one of them to say more; the whole text
// becomes the outcome's reason.
var (
	// ErrTimeout: the attempt's deadline has passed. It is timed out.
	ErrTimeout = errors.New("timed out")
	// ErrCanceled: somebody asked for the end of the run, or an overlapping run replaces it. It is canceled.
	ErrCanceled = errors.New("canceled")
	// ErrStopping: the worker shuts down. The attempt is lost, and may be tried again elsewhere.
	ErrStopping = errors.New(job.WorkerStopped)
	// ErrFenced: the worker's lease or the attempt's token is no longer good. The attempt is lost.
	ErrFenced = errors.New("worker lost its lease")
)

// Interrupted returns the outcome of an attempt that was ended by its context at the given time, and false when ctx is
// not done. A context that ended without one of the causes above ended the attempt for a reason that is not the job's:
// the attempt is lost.
func Interrupted(ctx context.Context, req *Request, at time.Time) (job.Outcome, bool) {
	cause := context.Cause(ctx)
	if cause == nil {
		return job.Outcome{}, false
	}
	o := job.Outcome{State: job.Lost, At: at, Reason: cause.Error()}
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		o.State, o.Retry = job.TimedOut, true
		if said := cause != ErrTimeout && cause != context.DeadlineExceeded; !said && req.Spec.Timeout > 0 {
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

// NotBegun is the outcome of an attempt that its worker could not begin, since its machine lacks something, as err says. The worker
// takes nothing new for a while, and the attempt may be repeated, whatever its job says.
func NotBegun(err error) job.Outcome {
	return job.Outcome{State: job.Lost, Reason: err.Error() + ", " + job.NotBegun, Retry: true}
}
