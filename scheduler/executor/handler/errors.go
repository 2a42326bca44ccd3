package handler

import (
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Permanent wraps an error that a retry cannot repair: the run fails at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// RetryAfter wraps an error. The retry waits for at least d. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfter{err, max(d, 0)}
}

type permanent struct{ err error }

func (e *permanent) Error() string { return e.err.Error() }
func (e *permanent) Unwrap() error { return e.err }

type retryAfter struct {
	err   error
	after time.Duration
}

func (e *retryAfter) Error() string { return e.err.Error() }
func (e *retryAfter) Unwrap() error { return e.err }

// outcome returns the outcome of a function that returned err.
func outcome(err error, at time.Time) job.Outcome {
	if err == nil {
		return job.Outcome{State: job.Succeeded, At: at}
	}
	o := job.Outcome{State: job.Failed, At: at, Reason: err.Error(), Retry: true}
	var (
		p *permanent
		r *retryAfter
	)
	switch {
	case errors.As(err, &p):
		o.Retry = false
	case errors.As(err, &r):
		o.After = r.after
	}
	return o
}
