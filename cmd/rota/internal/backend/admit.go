package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// The seconds after which a client may repeat a refused request.
const (
	afterWaiting = 5  // runs start all the time
	afterFull    = 60 // an operator has to make room
)

// The bounds, as rota_submissions_refused_total names them.
const (
	boundJob     = "job"     // runs of one job that await their start
	boundWaiting = "waiting" // the same in all jobs
	boundJobs    = "jobs"    // definitions
	boundSpace   = "space"   // space in etcd
)

// admitter creates runs within the bounds.
type admitter struct {
	b    *Backend
	most int // runs of the job that may await their start
}

func (b *Backend) admitting(spec *job.Spec) admitter {
	return admitter{b: b, most: cmp.Or(spec.MaxPending, job.DefaultMaxPending)}
}

// Submit creates r. Its results are those of store.Store.Submit. The error is an api.Overloaded if a bound is reached, unless an
// earlier submission with the same key has created the run.
func (a admitter) Submit(ctx context.Context, r job.Run, behind ...job.Run) (job.Run, error) {
	err := a.b.admitSpace()
	if err == nil {
		var made job.Run
		made, err = a.b.intake.Submit(ctx, r, a.most, behind...)
		var many *store.TooManyError
		if !errors.As(err, &many) {
			return made, err
		}
		bound := boundJob
		if many.Job == "" {
			bound = boundWaiting
		}
		err = a.b.overloaded(bound, afterWaiting, "%v: submit again later, with the same key", many)
	}
	if r.Key == "" {
		return r, err
	}
	earlier, ok := a.b.mirror.Run(r.Name())
	if ok && !earlier.State.Terminal() { // the mirror keeps no payload of a run that has ended
		return *earlier, job.ErrConflict
	}
	switch there, readErr := a.b.store.Run(ctx, r.Job, r.ID); {
	case readErr == nil:
		return there, job.ErrConflict
	case !errors.Is(readErr, job.ErrNotFound):
		return r, readErr
	}
	return r, err
}

// admitJob returns an api.Overloaded if no further job may be defined. Several clients at once may pass the bound by as many jobs
// as they define at the same time.
func (b *Backend) admitJob() error {
	if n := b.mirror.CountJobs(); n >= b.cfg.Bounds.Jobs {
		return b.overloaded(boundJobs, afterFull, "%d jobs are defined, as many as bounds.jobs allows: delete some, or raise it", n)
	}
	return b.admitSpace()
}

// admitSpace returns an api.Overloaded if etcd is so full that the rest of its space is kept for dispatching. If etcd is out of
// space, it returns nil: the answer of etcd itself tells the client more.
func (b *Backend) admitSpace() error {
	used, quota := b.cfg.Space.Used()
	if _, _, full := b.cfg.Space.Fill(); full || quota == 0 || used*100 < quota*int64(b.cfg.Bounds.Space) {
		return nil
	}
	return b.overloaded(
		boundSpace,
		afterFull,
		"etcd uses %d of its %d bytes, and the rest is kept for dispatching: "+
			"make room (delete runs or jobs, compact), or raise its quota",
		used,
		quota,
	)
}

func (b *Backend) overloaded(bound string, after int, format string, args ...any) error {
	if b.cfg.Refused != nil {
		b.cfg.Refused(bound)
	}
	return &api.Overloaded{Reason: fmt.Sprintf(format, args...), After: after}
}
