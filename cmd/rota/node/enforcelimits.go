package node

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// applyLimits writes the limits that differ. They come before the jobs that name them.
func (f *files) applyLimits(ctx context.Context) error {
	var changes []func() error
	for _, d := range f.set.Limits {
		known, _ := f.node.mirror.Limit(d.Name)
		if _, changed := f.definedLimit(known, d, time.Time{}); changed {
			changes = append(changes, func() error { return f.defineLimit(ctx, known, d) })
		}
	}
	return f.sideBySide(changes)
}

// removeLimits removes the limits of files that are gone, after the jobs that named them.
func (f *files) removeLimits(ctx context.Context) error {
	var changes []func() error
	for _, l := range f.node.mirror.Limits() {
		if _, defined := f.set.Limits[l.Name]; !defined && l.Origin.Kind == job.OriginFile {
			changes = append(changes, func() error { return f.removeLimit(ctx, l) })
		}
	}
	return f.sideBySide(changes)
}

// definedLimit is files.defined for a limit.
func (f *files) definedLimit(known *job.Limit, d config.LimitDefinition, now time.Time) (job.Limit, bool) {
	origin := job.Origin{Kind: job.OriginFile, Source: filepath.Base(d.File)}
	if known != nil && known.Origin.Kind == job.OriginFile {
		origin = known.Origin
	}
	next, changed := job.DefineLimit(known, d.Name, d.Spec, origin, now)
	if changed {
		next.Origin.Source = filepath.Base(d.File)
	}
	return next, changed
}

// defineLimit writes one limit, against whoever else writes it at the same time.
func (f *files) defineLimit(ctx context.Context, known *job.Limit, d config.LimitDefinition) error {
	var rev int64
	if known != nil {
		rev = known.Rev
	}
	for {
		now, err := f.node.clusterNow(ctx)
		if err != nil {
			return err
		}
		next, changed := f.definedLimit(known, d, now)
		if !changed {
			return nil
		}
		next.Rev = rev
		_, err = f.node.store.PutLimit(ctx, next)
		if err == nil {
			f.node.log.Info("limit defined", "limit", d.Name, "generation", next.Generation, "file", d.File)
			return nil
		}
		if !errors.Is(err, job.ErrConflict) {
			return err
		}
		if known, rev, err = f.node.presentLimit(ctx, d.Name); err != nil {
			return err
		}
	}
}

// removeLimit removes the limit that no file defines any more, against whoever else changes it at the same time.
func (f *files) removeLimit(ctx context.Context, l *job.Limit) error {
	for l != nil && l.Origin.Kind == job.OriginFile {
		err := f.node.store.DeleteLimit(ctx, l.Name, l.Rev)
		if err == nil {
			f.node.log.Info("limit removed, no file defines it any more", "limit", l.Name)
			return nil
		}
		if !errors.Is(err, job.ErrConflict) {
			return err
		}
		if l, _, err = f.node.presentLimit(ctx, l.Name); err != nil {
			return err
		}
	}
	return nil
}

// presentLimit reads a limit as it stands, nil if there is none that anybody can read, and the revision at which the next one
// takes its place.
func (n *Node) presentLimit(ctx context.Context, name string) (*job.Limit, int64, error) {
	l, err := n.store.Limit(ctx, name)
	switch {
	case errors.Is(err, job.ErrNotFound), errors.Is(err, job.ErrUnreadable):
		return nil, l.Rev, nil
	case err != nil:
		return nil, 0, err
	}
	return &l, l.Rev, nil
}
