package container

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// sweepPeriod lies between two sweeps.
	sweepPeriod = 30 * time.Second
	// sweepDelay lies between the end of an attempt and a sweep. The outcome is usually stored by then.
	sweepDelay = time.Second
	// takeOver is how long a new attempt may take to adopt the container of the attempt before it.
	takeOver = 10 * time.Second
)

// Records reads the record of a run. It returns job.ErrNotFound if there is none.
type Records func(ctx context.Context, jobName, id string) (job.Run, error)

// Sweep removes the cluster's containers that no run needs, until ctx ends. Their outcomes are stored, or their attempts were given
// up. So the container of an attempt stays until the store has the outcome, and a killed worker leaves nothing behind.
func (e *Executor) Sweep(ctx context.Context, records Records, log hclog.Logger) error {
	reachable := true
	for {
		err := e.sweep(ctx, records, log)
		if err != nil && reachable && ctx.Err() == nil {
			log.Warn("containers of ended attempts are not removed", "err", err)
		}
		reachable = err == nil
		select {
		case <-time.After(sweepPeriod):
		case <-e.ended:
			if sleep(ctx, sweepDelay) != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// sweepSoon makes Sweep begin soon.
func (e *Executor) sweepSoon() {
	select {
	case e.ended <- struct{}{}:
	default:
	}
}

func (e *Executor) sweep(ctx context.Context, records Records, log hclog.Logger) error {
	all, err := e.engine.list(ctx, labelCluster+"="+e.cfg.Cluster)
	if err != nil {
		return err
	}
	for _, l := range all {
		run := l.Labels[labelRun]
		if e.count(run, 0) > 0 { // the attempt adopts or removes it, however long the engine needs
			continue
		}
		attempt, ok := owner(e.cfg.Cluster, run, strings.TrimSuffix(l.name(), endedSuffix))
		if !ok {
			attempt = attemptOf(l.Labels)
		}
		jobName, id, _ := strings.Cut(run, "/")
		record, readErr := records(ctx, jobName, id)
		if gone := errors.Is(readErr, job.ErrNotFound); readErr != nil && !gone || !gone && needed(&record, attempt, e.now()) {
			err = errors.Join(err, readErr)
			continue
		}
		log.Debug("removing container", "name", l.name(), "run", run)
		if failed := e.engine.remove(ctx, l.ID); !hasStatus(failed, http.StatusConflict) { // 409: a removal is under way
			err = errors.Join(err, failed)
		}
	}
	return err
}

// needed reports whether the container of an attempt must stay: the attempt executes, its outcome is not stored yet, or a later
// attempt may still adopt it.
func needed(run *job.Run, attempt int, now time.Time) bool {
	switch {
	case run.State.Terminal():
		return false
	case run.State != job.Running:
		return lost(run, attempt)
	case run.Attempt == attempt:
		return true
	}
	began := run.Began() // the clock of the other worker may be wrong
	if !run.Started.After(now) {
		began = job.Later(began, run.Started) // the claim may have taken long
	}
	return lost(run, attempt) && now.Sub(began) < takeOver
}
