package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// write sends run until the answer is definite: nil, job.ErrConflict with the record as it stands, job.ErrUnreadable or
// job.ErrTooLarge. After job.ErrFull it goes on, as there may be room again. Any other error means that ctx has ended and
// that the write may or may not happen.
func (w *Worker) write(ctx context.Context, run job.Run) (job.Run, error) {
	got, err := w.store.Write(ctx, run)
	if settled(err) {
		return got, err
	}
	return w.writeAgain(ctx, run)
}

// writeAgain is write after the first try.
func (w *Worker) writeAgain(ctx context.Context, run job.Run) (got job.Run, err error) {
	err = w.insist(ctx, "write run "+run.Name(), func() (err error) {
		got, err = w.store.Write(ctx, run)
		return err
	})
	return got, err
}

// record creates ev, and returns an error only if ctx ends before.
func (w *Worker) record(ctx context.Context, ev job.Event) error {
	err := w.insist(ctx, "record event "+ev.Job+"/"+ev.ID, func() error { return w.store.Record(ctx, ev) })
	if errors.Is(err, job.ErrConflict) || errors.Is(err, job.ErrTooLarge) {
		return nil // it exists, or never will
	}
	return err
}

// insist calls do until it succeeds or is refused for good, with pauses, as long as ctx lasts.
func (w *Worker) insist(ctx context.Context, what string, do func() error) error {
	pauses := newPauses()
	for tries := 1; ; tries++ {
		err := do()
		if settled(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w (%w)", what, context.Cause(ctx), err)
		}
		w.log.Debug("store did not take it yet", "what", what, "tries", tries, "err", err)
		if err := pause(ctx, pauses.NextBackOff()); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// settled says whether err is the store's definite answer.
func settled(err error) bool {
	return err == nil || errors.Is(err, job.ErrConflict) || errors.Is(err, job.ErrUnreadable) || errors.Is(err, job.ErrTooLarge)
}

// newPauses returns short and growing pauses: short, since a session may depend on what is waiting.
func newPauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: time.Second,
	}
}

// pause waits for d, and returns the cause if ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
