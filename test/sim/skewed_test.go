package sim

import (
	"context"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// skewed is the store as seen by a worker with a wrong clock. A worker knows no other clock. So a clock that is wrong by d has
// the same effect as a shift by -d of every time that the worker reads.
type skewed struct {
	*store.Store
	off time.Duration
}

func (s skewed) Orders(ctx context.Context, worker string, deliver func(job.Order)) error {
	return s.Store.Orders(ctx, worker, func(o job.Order) {
		o.Runs = slices.Clone(o.Runs)
		for i := range o.Runs {
			o.Runs[i] = moved(o.Runs[i], -s.off)
		}
		deliver(o)
	})
}

func (s skewed) Write(ctx context.Context, r job.Run) (job.Run, error) {
	got, err := s.Store.Write(ctx, moved(r, s.off))
	return moved(got, -s.off), err
}

func (s skewed) Run(ctx context.Context, name, id string) (job.Run, error) {
	r, err := s.Store.Run(ctx, name, id)
	return moved(r, -s.off), err
}

// moved returns a run with every time that a worker reads or writes shifted by d.
func moved(r job.Run, d time.Duration) job.Run {
	if d == 0 {
		return r
	}
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	r.Attempts = slices.Clone(r.Attempts)
	for i := range r.Attempts {
		move(&r.Attempts[i].Started)
		move(&r.Attempts[i].Finished)
	}
	for _, t := range []*time.Time{&r.Due, &r.Armed, &r.Started, &r.Finished} {
		move(t)
	}
	return r
}
