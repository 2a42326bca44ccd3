package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxBehind is how many steps one start of a workflow creates. One transaction writes them all.
const MaxBehind = 100

// Submit creates a run. If a run of that name exists, Submit returns it with job.ErrConflict. For a caller with an
// idempotency key, that is the run of an earlier call. If the error is job.ErrOutcomeUnknown too, it may also be the run of
// this call: another client may have changed it after an unanswered sending. behind are the steps of a workflow that r
// starts, at most MaxBehind. The same transaction creates them.
func (s *Store) Submit(ctx context.Context, r job.Run, behind ...job.Run) (job.Run, error) {
	w := newWrite(s.ids.next(), r.Job)
	if err := s.putRuns(w, &r, behind); err != nil {
		return r, err
	}
	made, err := s.writeRun(ctx, w, r)
	return made, perhapsOwn(err, errors.Is(err, job.ErrConflict) && w.open) // while it is under way, w.open belongs to its group
}

// perhapsOwn adds job.ErrOutcomeUnknown to the conflict of a creation if open says that a sending of it was not answered.
func perhapsOwn(err error, open bool) error {
	if open && errors.Is(err, job.ErrConflict) {
		return fmt.Errorf("%w: %w", job.ErrOutcomeUnknown, err)
	}
	return err
}

// putRuns adds to w the creation of r, and of the steps behind it.
func (s *Store) putRuns(w *write, r *job.Run, behind []job.Run) error {
	r.Op, r.Rev = w.id, 0
	if err := w.put(s.keys.run(r.Job, r.ID), 0, r); err != nil {
		return err
	}
	for _, step := range behind {
		step.Op, step.Rev = w.id, 0
		if err := w.put(s.keys.run(step.Job, step.ID), 0, &step); err != nil {
			return err
		}
	}
	return nil
}

// Stop asks the worker that executes run r to end it. One transaction writes the request to the record of r and puts an
// order to stop r into the worker's queue. Its results are those of Write.
func (s *Store) Stop(ctx context.Context, r job.Run) (job.Run, error) {
	key := s.keys.run(r.Job, r.ID)
	w := newWrite(s.ids.next(), key)
	r.Op = w.id
	if err := w.putRun(key, r.Rev, &r); err != nil {
		return r, err
	}
	w.order = &handout{id: w.id, queue: s.keys.queue(r.Worker), session: r.Session, stop: r.Name()}
	return s.writeRun(ctx, w, r)
}

// Write replaces the record of a run at revision r.Rev by r. Workers write claims, outcomes and returned attempts with
// it, and the API requests to cancel. It waits until the answer is definite. If ctx ends first, the write may still
// take place.
//
// The run comes back with its new revision. With job.ErrConflict, Write returns the present record, or the zero Run if
// there is none. The error is job.ErrUnreadable if the present record is unreadable. Somebody wrote that record by
// hand, and may still repair it.
func (s *Store) Write(ctx context.Context, r job.Run) (job.Run, error) {
	w, err := s.runWrite(&r)
	if err != nil {
		return r, err
	}
	return s.writeRun(ctx, w, r)
}

// runWrite returns the write of a run, and sets the op of r.
func (s *Store) runWrite(r *job.Run) (*write, error) {
	key := s.keys.run(r.Job, r.ID)
	w := newWrite(s.ids.next(), key)
	w.urgent = r.State == job.Running // claims go before outcomes
	w.patient = patientRun(r, time.Now())
	r.Op = w.id
	return w, w.putRun(key, r.Rev, r)
}

// writeRun commits w, whose record is r.
func (s *Store) writeRun(ctx context.Context, w *write, r job.Run) (job.Run, error) {
	out, err := s.free.do(ctx, w)
	switch {
	case err == nil:
		r.Rev = out.rev
		return r, nil
	case errors.Is(err, job.ErrConflict):
		c := found(out, KindRuns, r.Name(), w.probe[0])
		switch there := job.ValueOf[job.Run](c); {
		case there != nil:
			return *there, err
		case c.Bad != nil && r.Rev != 0:
			return job.Run{}, unreadable(w.probe[0], c.Bad)
		}
		return job.Run{}, err
	}
	return r, fmt.Errorf("write run %s: %w", r.Name(), err)
}

// Replaced reads the record that replaced revision rev of a run which has changed since, or is gone. The error is job.ErrNotFound
// if rev is no revision of this run, if the run was removed at once, or if etcd has compacted the revisions that would show it.
func (s *Store) Replaced(ctx context.Context, jobName, id string, rev int64) (job.Run, error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), tryTimeout)
	defer cancel()
	key := s.keys.run(jobName, id)
	there, err := s.client.Get(ctx, key, clientv3.WithRev(rev), clientv3.WithKeysOnly())
	if err == nil && modRevision(there.Kvs) != rev {
		return job.Run{}, job.ErrNotFound
	}
	var next *mvccpb.KeyValue
	if err == nil {
		next, err = s.firstChange(ctx, rev, key)
	}
	switch {
	case isCode(err, rpctypes.ErrCompacted), isCode(err, rpctypes.ErrFutureRev):
		return job.Run{}, fmt.Errorf("read what followed revision %d of run %s/%s: %w (%w)", rev, jobName, id, job.ErrNotFound, err)
	case err != nil:
		return job.Run{}, fmt.Errorf("read what followed revision %d of run %s/%s: %w", rev, jobName, id, err)
	}
	if r := job.ValueOf[job.Run](decodeKV(KindRuns, jobName+"/"+id, next)); r != nil {
		return *r, nil
	}
	return job.Run{}, job.ErrNotFound
}

// Run reads the whole record of a run. The error is job.ErrNotFound if there is none.
func (s *Store) Run(ctx context.Context, jobName, id string) (job.Run, error) {
	r, _, err := get[job.Run](ctx, s, KindRuns, jobName+"/"+id)
	return r, err
}
