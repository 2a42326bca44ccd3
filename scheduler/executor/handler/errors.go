package handler

import (
	"context"
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

// plainError is an error of a function without that function's types.
type plainError struct {
	text string
	kind error // *permanent, *retryAfter, an error of the context, or nil
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.kind }

// plain returns err without methods of the function's own types. They can panic, as at a nil pointer in an error. So plain is
// called where a panic is recovered.
func plain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	e := &plainError{text: err.Error()}
	var (
		p *permanent
		r *retryAfter
	)
	switch {
	case errors.Is(err, ctx.Err()), errors.Is(err, context.Cause(ctx)):
		e.kind = ctx.Err()
	case errors.As(err, &p):
		e.kind = &permanent{errors.New(e.text)}
	case errors.As(err, &r):
		e.kind = &retryAfter{errors.New(e.text), r.after}
	}
	return e
}
