package store

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Submit creates a run. If there is one of that name already, it comes back as it stands with job.ErrConflict: to a
// caller who gave an idempotency key, that is the run which an earlier call made. It may also be the caller's own: others
// may have changed it between a sending that was not answered and the next one.
func (s *Store) Submit(ctx context.Context, r job.Run) (job.Run, error) {
	w := &write{id: s.ops.next(), lane: r.Job}
	r.Op, r.Rev = w.id, 0
	if err := w.put(s.keys.run(r.Job, r.ID), 0, &r); err != nil {
		return r, err
	}
	return s.writeRun(ctx, w, r)
}

// Stop writes a request to end run r, which an attempt executes, and tells its worker in the same transaction.
// Results are those of Write.
func (s *Store) Stop(ctx context.Context, r job.Run) (job.Run, error) {
	key := s.keys.run(r.Job, r.ID)
	w := &write{id: s.ops.next(), lane: key}
	r.Op = w.id
	if err := w.put(key, r.Rev, &r); err != nil {
		return r, err
	}
	w.order = &handout{id: w.id, queue: s.keys.queue(r.Worker), session: r.Session, stop: r.Name()}
	return s.writeRun(ctx, w, r)
}

// Write replaces the record of a run at revision r.Rev by r: the claim, the outcome and the return of an attempt by its
// worker, and a request to cancel. It shares transactions with other writes, and waits until the answer is definite or
// ctx ends; then the write may still take place. The run comes back with its new revision. With job.ErrConflict it is
// the record as it stands, the zero Run if there is none. job.ErrUnreadable if nobody can read what is there: that is somebody's
// hand, which may yet put right what it did.
func (s *Store) Write(ctx context.Context, r job.Run) (job.Run, error) {
	key := s.keys.run(r.Job, r.ID)
	w := &write{id: s.ops.next(), lane: key, urgent: r.State == job.Running} // claims go before outcomes
	r.Op = w.id
	if err := w.put(key, r.Rev, &r); err != nil {
		return r, err
	}
	return s.writeRun(ctx, w, r)
}

// writeRun commits w, whose record is r.
func (s *Store) writeRun(ctx context.Context, w *write, r job.Run) (job.Run, error) {
	out, err := s.free.do(ctx, w)
	switch {
	case err == nil:
		r.Rev = out.rev
		return r, nil
	case err == job.ErrConflict:
		c := s.seen(out, KindRuns, r.Name(), w.probe[0])
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

// Run reads the whole record of a run. The error is job.ErrNotFound if there is none.
func (s *Store) Run(ctx context.Context, jobName, id string) (job.Run, error) {
	r, _, err := get[job.Run](ctx, s, KindRuns, jobName+"/"+id)
	return r, err
}
