package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// inputsTimeout is how long an attempt waits for the records of the runs that it follows.
const inputsTimeout = 10 * time.Second

// errNoInputs ends the wait for inputs.
var errNoInputs = errors.New("the store did not answer in time")

// inputs returns the outputs of the runs that run follows, by their jobs. If a record is missing or unreadable, mistake says so:
// a later try would not find it either.
func (w *Worker) inputs(ctx context.Context, run *job.Run) (inputs map[string]map[string]string, mistake string, err error) {
	if len(run.After) == 0 {
		return nil, "", nil
	}
	limit, cancel := context.WithTimeoutCause(ctx, inputsTimeout, errNoInputs)
	defer cancel()
	for i := range run.After {
		a := &run.After[i]
		if !a.Outputs {
			continue
		}
		id, delays := a.RunID(run), newBackoff()
		for {
			parent, err := w.store.Run(limit, a.Job, id)
			if err == nil {
				if inputs == nil {
					inputs = make(map[string]map[string]string)
				}
				inputs[a.Job] = parent.Outputs
				break
			}
			if errors.Is(err, job.ErrNotFound) || errors.Is(err, job.ErrUnreadable) {
				return nil, fmt.Sprintf("outputs of parent %s: run %s/%s has no readable record", a.Job, a.Job, id), nil
			}
			if err := sleep(limit, delays.NextBackOff()); err != nil {
				return nil, "", fmt.Errorf("read outputs of run %s/%s: %w", a.Job, id, err)
			}
		}
	}
	return inputs, "", nil
}
