package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutJob creates or replaces a definition. One that the caller names no revision of is replaced whoever else changes it
// meanwhile.
func (b *Backend) PutJob(ctx context.Context, name string, spec job.Spec, pre api.Precondition, by string) (api.JobView, bool, error) {
	if err := b.up(); err != nil {
		return api.JobView{}, false, err
	}
	limits, err := b.limitsOf(ctx, spec)
	if err != nil {
		return api.JobView{}, false, err
	}
	spec, err = checkSpec(name, spec, limits)
	if err != nil {
		return api.JobView{}, false, err
	}
	for {
		current, rev, err := b.editable(ctx, name, pre)
		if err != nil {
			return api.JobView{}, false, err
		}
		origin := job.Origin{Kind: job.OriginAPI, Source: by}
		if current != nil {
			origin = current.Origin // who made it, not who touched it last: that alone is no change
		}
		now, err := b.now(ctx)
		if err != nil {
			return api.JobView{}, false, err
		}
		next, changed := job.Define(current, name, spec, origin, now)
		next.Rev = rev // also in the place of one that nobody can read
		if changed {
			next, err = b.store.PutJob(ctx, next)
		}
		switch {
		case errors.Is(err, job.ErrConflict) && pre.Any():
			continue
		case err != nil:
			return api.JobView{}, false, asked(err)
		}
		b.shown(ctx, next.Rev)
		return b.jobView(&next), rev == 0, nil
	}
}

// editable reads a definition that a caller wants to change, nil if there is none, and says why it must not. rev is that of
// its record, 0 if there is none. One that nobody can read is nil, too: who names its revision may replace or remove it.
func (b *Backend) editable(ctx context.Context, name string, pre api.Precondition) (current *job.Job, rev int64, err error) {
	j, err := b.store.Job(ctx, name)
	switch {
	case err == nil && j.Origin.Kind == job.OriginFile:
		return nil, j.Rev, api.OwnedByFile(name, j.Origin.Source)
	case err == nil:
		current = &j
	case errors.Is(err, job.ErrNotFound), errors.Is(err, job.ErrUnreadable) && pre.Revision != 0:
	default:
		return nil, 0, asked(err)
	}
	if !pre.Holds(j.Rev) {
		return nil, j.Rev, fmt.Errorf("job %s is at revision %d: %w", name, j.Rev, job.ErrConflict)
	}
	return current, j.Rev, nil
}

// current reads a definition, nil if there is none.
func (b *Backend) current(ctx context.Context, name string) (*job.Job, error) {
	j, err := ifFound(b.store.Job(ctx, name))
	if err != nil {
		return nil, asked(err)
	}
	return j, nil
}

// DeleteJob removes a definition.
func (b *Backend) DeleteJob(ctx context.Context, name string, pre api.Precondition, _ string) error {
	if err := b.up(); err != nil {
		return err
	}
	for {
		_, rev, err := b.editable(ctx, name, pre)
		switch {
		case rev == 0 && (err == nil || errors.Is(err, job.ErrConflict)):
			return fmt.Errorf("job %s: %w", name, job.ErrNotFound)
		case err != nil:
			return err
		}
		err = b.store.DeleteJob(ctx, name, rev)
		switch {
		case errors.Is(err, job.ErrConflict): // what is there now says why
			continue
		case err != nil:
			return asked(err)
		}
		if rev, err := b.store.Revision(ctx); err == nil {
			b.shown(ctx, rev)
		}
		return nil
	}
}

// PauseJob pauses or resumes one job, whoever else changes it meanwhile.
func (b *Backend) PauseJob(ctx context.Context, name string, p *job.Pause) (api.JobView, error) {
	if err := b.up(); err != nil {
		return api.JobView{}, err
	}
	for {
		current, err := b.current(ctx, name)
		if err != nil {
			return api.JobView{}, err
		}
		if current == nil {
			return api.JobView{}, fmt.Errorf("job %s: %w", name, job.ErrNotFound)
		}
		now, err := b.now(ctx)
		if err != nil {
			return api.JobView{}, err
		}
		next, changed := current.SetPause(p, now)
		if !changed {
			return b.jobView(current), nil
		}
		next, err = b.store.PutJob(ctx, next)
		switch {
		case errors.Is(err, job.ErrConflict):
			continue
		case err != nil:
			return api.JobView{}, asked(err)
		}
		b.shown(ctx, next.Rev)
		return b.jobView(&next), nil
	}
}

// PauseAll pauses or resumes all jobs.
func (b *Backend) PauseAll(ctx context.Context, p *job.Pause) (job.Gate, error) {
	if err := b.up(); err != nil {
		return job.Gate{}, err
	}
	for {
		current, err := b.store.Gate(ctx)
		switch {
		case errors.Is(err, job.ErrUnreadable): // what is asked for takes its place, whatever it was
			known := b.mirror.Gate()
			current.Since, current.Pauses = known.Since, known.Pauses
			if p == nil {
				current.Paused = new(job.Pause)
			}
		case err != nil:
			return job.Gate{}, asked(err)
		}
		now, err := b.now(ctx)
		if err != nil {
			return job.Gate{}, err
		}
		next, changed := current.SetPause(p, now)
		if !changed {
			return current, nil
		}
		next, err = b.store.PutGate(ctx, next)
		switch {
		case errors.Is(err, job.ErrConflict):
			continue
		case err != nil:
			return job.Gate{}, asked(err)
		}
		b.shown(ctx, next.Rev)
		return next, nil
	}
}

// shownTimeout bounds how long a caller waits until what it wrote is shown.
const shownTimeout = time.Second

// shown returns when this replica answers from a store that has reached rev, so that a caller reads what it wrote. It is
// no condition for anything: after a while it returns all the same.
func (b *Backend) shown(ctx context.Context, rev int64) {
	waiting, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	_ = b.mirror.WaitFor(waiting, rev)
}

// ifFound returns the record that was read; nil if there is none.
func ifFound[T any](record T, err error) (*T, error) {
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &record, nil
}
