package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// PauseJob pauses or resumes one job. It repeats the write after a conflict.
func (b *Backend) PauseJob(ctx context.Context, name string, p *job.Pause) (api.JobView, error) {
	if err := b.up(); err != nil {
		return api.JobView{}, err
	}
	j, err := store.Edit(ctx,
		func(ctx context.Context) (job.Job, error) { return stored(b.store.Job(ctx, name)) },
		func(j job.Job) (job.Job, bool, error) {
			now, err := b.now(ctx)
			if err != nil {
				return j, false, err
			}
			next, changed := j.SetPause(p, now)
			return next, changed, nil
		},
		func(ctx context.Context, next job.Job) (job.Job, error) { return stored(b.store.PutJob(ctx, next)) })
	if err != nil {
		return api.JobView{}, err
	}
	b.shown(ctx, j.Rev)
	return b.jobView(&j), nil
}

// PauseAll pauses or resumes all jobs.
func (b *Backend) PauseAll(ctx context.Context, p *job.Pause) (job.Gate, error) {
	if err := b.up(); err != nil {
		return job.Gate{}, err
	}
	g, err := store.Edit(ctx,
		func(ctx context.Context) (job.Gate, error) {
			current, err := b.store.Gate(ctx)
			if errors.Is(err, job.ErrUnreadable) { // the request replaces the unreadable record
				known := b.mirror.Gate()
				current.Since, current.Pauses = known.Since, known.Pauses
				if p == nil {
					current.Paused = new(job.Pause) // a resumption must count as a change, so assume that jobs are paused
				}
				err = nil
			}
			return current, storeError(err)
		},
		func(current job.Gate) (job.Gate, bool, error) {
			now, err := b.now(ctx)
			if err != nil {
				return current, false, err
			}
			next, changed := current.SetPause(p, now)
			return next, changed, nil
		},
		func(ctx context.Context, next job.Gate) (job.Gate, error) { return stored(b.store.PutGate(ctx, next)) })
	if err != nil {
		return job.Gate{}, err
	}
	b.shown(ctx, g.Rev)
	return g, nil
}

// shownTimeout is how long a client waits until the mirror shows its write.
const shownTimeout = time.Second

// shown waits until the mirror has reached rev, so that a client reads its own write. It gives up after shownTimeout.
func (b *Backend) shown(ctx context.Context, rev int64) {
	waiting, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	_ = b.mirror.WaitFor(waiting, rev)
}

// caughtUp waits until the mirror has everything that is in the store now. After shownTimeout it returns an error. Clients then try
// again.
func (b *Backend) caughtUp(ctx context.Context) error {
	rev, err := b.store.Revision(ctx)
	if err != nil {
		return storeError(err)
	}
	waiting, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	if b.mirror.WaitFor(waiting, rev) != nil {
		return fmt.Errorf("the watch of the store is behind: %w", api.ErrUnavailable)
	}
	return nil
}
