package container

import (
	"context"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// engineLimit is how long an attempt waits for an engine that does not answer. Then the attempt has not begun, and the worker
// accepts no runs of the kind container until its engine answers. Another worker may get the run.
const engineLimit = 30 * time.Second

// silentLimit is how long an attempt waits for the first answer, if no container of its run can be on the engine. Such a run may
// as well wait for a worker whose engine answers, and takes no room meanwhile. The limit is short, because the attempts of a busy
// worker may take all its places, and runs of other kinds wait.
const silentLimit = time.Second

// absentError says that the engine did not answer for engineLimit, or could not tell.
type absentError struct{ error }

// Check returns nil if the engine answers the first question of an attempt.
func (e *Executor) Check(ctx context.Context) error {
	_, err := e.engine.list(ctx, labelCluster+"="+e.cfg.Cluster, labelWorker+"="+e.cfg.Worker)
	if err = unsure(err); refused(err) {
		return nil
	}
	return err
}

// firstPatience returns how long an attempt waits for the engine's first answer.
func (e *Executor) firstPatience(run *job.Run) time.Duration {
	if slices.ContainsFunc(run.Attempts, func(a job.Attempt) bool {
		return a.State == job.Lost && a.HasBegun() // its container may be on this engine
	}) {
		return e.patience
	}
	return min(e.patience, silentLimit)
}

// patiently calls f until the engine answers, for at most e.patience. f may have had an effect when it fails.
func (e *Executor) patiently(ctx context.Context, f func() error) error {
	return persist(ctx, e.patience, f)
}

// persist calls f until the engine answers, for at most a time.
func persist(ctx context.Context, atMost time.Duration, f func() error) error {
	began := time.Now()
	for {
		err := f()
		if err == nil || refused(err) || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > atMost {
			return absentError{err}
		}
		if err := sleep(ctx, pollPause); err != nil {
			return err
		}
	}
}
