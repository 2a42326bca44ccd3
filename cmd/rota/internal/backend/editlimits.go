package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var _ api.Limiter = (*Backend)(nil)

// Limits shows all limits.
func (b *Backend) Limits(context.Context) ([]api.LimitView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	held := map[string]int{}
	for _, r := range b.mirror.Runs("", func(r *job.Run) bool { return r.State == job.Armed || r.State == job.Running }) {
		for _, name := range r.Limits {
			held[name]++
		}
	}
	var views []api.LimitView
	for _, l := range b.mirror.Limits() {
		views = append(views, api.LimitView{Limit: *l, Revision: l.Rev, Held: held[l.Name]})
	}
	return views, nil
}

// PutLimit creates or replaces a limit. One that the caller names no revision of is replaced whoever else changes it
// meanwhile.
func (b *Backend) PutLimit(ctx context.Context, name string, spec job.LimitSpec, pre api.Precondition, by string) (api.LimitView, bool, error) {
	if err := b.up(); err != nil {
		return api.LimitView{}, false, err
	}
	for {
		current, rev, err := b.editableLimit(ctx, name, pre)
		if err != nil {
			return api.LimitView{}, false, err
		}
		origin := job.Origin{Kind: job.OriginAPI, Source: by}
		if current != nil {
			origin = current.Origin // who made it, not who touched it last: that alone is no change
		}
		now, err := b.now(ctx)
		if err != nil {
			return api.LimitView{}, false, err
		}
		next, changed := job.DefineLimit(current, name, spec, origin, now)
		if changed {
			next.Rev = rev
			next, err = b.store.PutLimit(ctx, next)
		}
		switch {
		case errors.Is(err, job.ErrConflict) && pre.Any():
			continue
		case err != nil:
			return api.LimitView{}, false, asked(err)
		}
		b.shown(ctx, next.Rev)
		return api.LimitView{Limit: next, Revision: next.Rev}, current == nil, nil
	}
}

// DeleteLimit removes a limit that no job names.
func (b *Backend) DeleteLimit(ctx context.Context, name string, pre api.Precondition, _ string) error {
	if err := b.up(); err != nil {
		return err
	}
	for _, j := range b.mirror.Jobs() {
		if slices.Contains(j.Spec.Limits, name) {
			return &api.Refusal{Reason: fmt.Sprintf("limit %s is named by job %s: remove it there first", name, j.Name)}
		}
	}
	for {
		_, rev, err := b.editableLimit(ctx, name, pre)
		switch {
		case rev == 0 && (err == nil || errors.Is(err, job.ErrConflict)):
			return fmt.Errorf("limit %s: %w", name, job.ErrNotFound)
		case err != nil:
			return err
		}
		err = b.store.DeleteLimit(ctx, name, rev)
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

// editableLimit reads a limit that a caller wants to change, nil if there is none that anybody can read, with the revision of
// its record, zero if there is none. It says why the caller must not.
func (b *Backend) editableLimit(ctx context.Context, name string, pre api.Precondition) (*job.Limit, int64, error) {
	current, rev, err := b.presentLimit(ctx, name)
	switch {
	case err != nil:
		return nil, 0, asked(err)
	case current != nil && current.Origin.Kind == job.OriginFile:
		return current, rev, &api.Refusal{Reason: fmt.Sprintf("limit %s is defined in %s: change it there, or remove it there and apply it anew", name, current.Origin.Source)}
	case !pre.Holds(rev):
		return current, rev, fmt.Errorf("limit %s is at revision %d: %w", name, rev, job.ErrConflict)
	}
	return current, rev, nil
}

// limitsOf reads those of the limits that spec names which there are.
func (b *Backend) limitsOf(ctx context.Context, spec job.Spec) (map[string]job.LimitSpec, error) {
	there := map[string]job.LimitSpec{}
	for _, name := range spec.Limits {
		if job.CheckName(name) != nil || len(there) > job.MaxLimits {
			continue // it will be refused
		}
		l, _, err := b.presentLimit(ctx, name)
		if err != nil {
			return nil, asked(err)
		}
		if l != nil {
			there[name] = l.Spec
		}
	}
	return there, nil
}

// presentLimit reads a limit as it stands, nil if there is none that anybody can read, and the revision at which the next one
// takes its place.
func (b *Backend) presentLimit(ctx context.Context, name string) (*job.Limit, int64, error) {
	l, err := b.store.Limit(ctx, name)
	switch {
	case errors.Is(err, job.ErrNotFound), errors.Is(err, job.ErrUnreadable):
		return nil, l.Rev, nil
	case err != nil:
		return nil, 0, err
	}
	return &l, l.Rev, nil
}
