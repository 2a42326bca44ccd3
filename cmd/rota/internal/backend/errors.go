package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// refusal returns the answer to a request that the present state does not allow.
func refusal(format string, args ...any) error {
	return &api.Refusal{Reason: fmt.Sprintf(format, args...)}
}

// noSlots is the answer about a job whose schedule cannot be read.
func noSlots(name string, err error) error {
	return refusal("job %s has no slots, since its schedule cannot be read: %v", name, err)
}

// invalidField returns the answer to a request with a mistake in one field.
func invalidField(field, format string, args ...any) error {
	return &api.Invalid{Errors: []api.FieldError{{Field: field, Message: fmt.Sprintf(format, args...)}}}
}

// storeError converts an error of the store into the error that a client of the API gets.
func storeError(err error) error {
	for _, known := range []error{job.ErrNotFound, job.ErrConflict, job.ErrUnreadable, job.ErrTooLarge, job.ErrFull} {
		if errors.Is(err, known) {
			return err
		}
	}
	return unavailable(err)
}

// stored converts the error of a result of the store.
func stored[T any](v T, err error) (T, error) { return v, storeError(err) }

// unavailable marks an error of the store as temporary.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	text := strings.ReplaceAll(failure.Short(err), context.DeadlineExceeded.Error(), "the store did not answer in time")
	return fmt.Errorf("%w: %s", api.ErrUnavailable, text)
}
