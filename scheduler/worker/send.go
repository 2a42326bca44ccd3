package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// write sends run until the answer is definite: nil, job.ErrConflict with the present record, job.ErrUnreadable or
// job.ErrTooLarge. After job.ErrFull it tries again, since the store may get room. Any other error means that ctx has ended;
// then it is unknown whether the write happens.
func (w *Worker) write(ctx context.Context, run job.Run) (got job.Run, err error) {
	if got, err = w.store.Write(ctx, run); definite(err) {
		return got, err
	}
	return w.writeAgain(ctx, run)
}

// writeAgain repeats the write after a first try. It is a function of its own so that a first try allocates no closure.
func (w *Worker) writeAgain(ctx context.Context, run job.Run) (got job.Run, err error) {
	err = w.untilDefinite(ctx, "write run "+run.Name(), func() (err error) {
		got, err = w.store.Write(ctx, run)
		return err
	})
	return got, err
}

// record creates ev. It returns an error only if ctx ends first.
func (w *Worker) record(ctx context.Context, ev job.Event) error {
	err := w.untilDefinite(ctx, "record event "+ev.Job+"/"+ev.ID, func() error { return w.store.Record(ctx, ev) })
	if errors.Is(err, job.ErrConflict) || errors.Is(err, job.ErrTooLarge) {
		return nil // the event exists already, or the store will never accept it
	}
	return err
}

// untilDefinite calls do, with growing delays, until its answer is definite or ctx ends.
func (w *Worker) untilDefinite(ctx context.Context, what string, do func() error) error {
	delays := newBackoff()
	for tries := 1; ; tries++ {
		err := do()
		if definite(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w (%w)", what, context.Cause(ctx), err)
		}
		w.log.Debug("store gave no definite answer, trying again", "what", what, "tries", tries, "err", err)
		if err := sleep(ctx, delays.NextBackOff()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// definite reports whether err is a definite answer of the store.
func definite(err error) bool {
	return err == nil || errors.Is(err, job.ErrConflict) || errors.Is(err, job.ErrUnreadable) || errors.Is(err, job.ErrTooLarge)
}

// newBackoff returns growing delays from 50 ms to 1 s. They are short, since a session may depend on the next try.
func newBackoff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: time.Second,
	}
}

// sleep waits for d. It returns the cause of ctx if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait waits until done is closed, limit has passed or ctx ends. It reports whether done is closed.
func wait(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done: // even if limit is zero or negative
		return true
	default:
	}
	select {
	case <-done:
		return true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return false
}

// wake puts a token into c, which has room for one. A token that is there already is enough.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
