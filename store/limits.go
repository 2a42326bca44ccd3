package store

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutLimit creates or replaces a limit's definition: l.Rev is the revision that it replaces, zero if there must be none.
// job.ErrConflict if it is otherwise.
func (s *Store) PutLimit(ctx context.Context, l job.Limit) (job.Limit, error) {
	key := s.keys.limit(l.Name)
	w := &write{id: s.ops.next(), lane: key}
	l.Op = w.id
	if err := w.put(key, l.Rev, l); err != nil {
		return l, err
	}
	if l.Rev == 0 {
		w.above(s.keys.stone(KindLimits, l.Name))
	}
	out, err := s.exactly(ctx, w)
	if err != nil {
		return l, fmt.Errorf("write limit %s: %w", l.Name, err)
	}
	l.Rev = out.rev
	return l, nil
}

// DeleteLimit removes a limit's definition at revision rev. Runs that name it wait until it is defined again.
// job.ErrConflict as from DeleteJob.
func (s *Store) DeleteLimit(ctx context.Context, name string, rev int64) error {
	key := s.keys.limit(name)
	w := &write{id: s.ops.next(), lane: key}
	w.drop(key, rev)
	w.leave(s.keys.stone(KindLimits, name))
	if _, err := s.exactly(ctx, w); err != nil {
		return fmt.Errorf("delete limit %s: %w", name, err)
	}
	return nil
}

// Limit reads a limit's definition. job.ErrNotFound if there is none, job.ErrUnreadable if nobody can read it.
func (s *Store) Limit(ctx context.Context, name string) (job.Limit, error) {
	c, err := s.get(ctx, KindLimits, name, s.keys.limit(name))
	if err != nil {
		return job.Limit{Rev: c.Rev}, err
	}
	return *c.Limit, nil
}
