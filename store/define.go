package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutJob creates or replaces a definition: j.Rev is the revision that it replaces, zero if there must be none.
// job.ErrConflict if it is otherwise.
func (s *Store) PutJob(ctx context.Context, j job.Job) (job.Job, error) {
	w := &write{id: s.ops.next(), lane: j.Name}
	j.Op = w.id
	if err := w.put(s.keys.job(j.Name), j.Rev, j); err != nil {
		return j, err
	}
	if j.Rev == 0 {
		w.above(s.keys.stone(KindJobs, j.Name))
	}
	out, err := s.exactly(ctx, w)
	if err != nil {
		return j, fmt.Errorf("write job %s: %w", j.Name, err)
	}
	j.Rev = out.rev
	return j, nil
}

// DeleteJob removes a definition at revision rev, and its cursor with it. The leader ends what is left of its runs.
// job.ErrConflict if it is at another one, or somebody else has removed it.
func (s *Store) DeleteJob(ctx context.Context, name string, rev int64) error {
	w := &write{id: s.ops.next(), lane: name}
	w.drop(s.keys.job(name), rev)
	w.dropAnyway(s.keys.cursor(name)) // wherever the leader has moved it
	w.dropAnyway(s.keys.told(name))
	w.leave(s.keys.stone(KindJobs, name))
	if _, err := s.exactly(ctx, w); err != nil {
		return fmt.Errorf("delete job %s: %w", name, err)
	}
	return nil
}

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

// PutGate replaces the cluster-wide pause.
func (s *Store) PutGate(ctx context.Context, g job.Gate) (job.Gate, error) {
	w := &write{id: s.ops.next(), lane: s.keys.gate()}
	g.Op = w.id
	if err := w.put(s.keys.gate(), g.Rev, g); err != nil {
		return g, err
	}
	out, err := s.exactly(ctx, w)
	if err != nil {
		return g, fmt.Errorf("write the pause of all jobs: %w", err)
	}
	g.Rev = out.rev
	return g, nil
}

// PutFiles replaces the record of the job files in force.
func (s *Store) PutFiles(ctx context.Context, f job.Files) (job.Files, error) {
	w := &write{id: s.ops.next(), lane: s.keys.files()}
	f.Op = w.id
	if err := w.put(s.keys.files(), f.Rev, f); err != nil {
		return f, err
	}
	out, err := s.exactly(ctx, w)
	if err != nil {
		return f, fmt.Errorf("write the hash of the job files: %w", err)
	}
	f.Rev = out.rev
	return f, nil
}

// Files reads which job files are in force; the zero Files if none ever were. job.ErrUnreadable if nobody can read it.
func (s *Store) Files(ctx context.Context) (job.Files, error) {
	c, err := s.get(ctx, KindFiles, "", s.keys.files())
	switch {
	case errors.Is(err, job.ErrNotFound):
		return job.Files{}, nil
	case err != nil:
		return job.Files{Rev: c.Rev}, err
	}
	return *c.Files, nil
}

// Gate reads the cluster-wide pause; the zero Gate if there never was one. job.ErrUnreadable if nobody can read it.
func (s *Store) Gate(ctx context.Context) (job.Gate, error) {
	c, err := s.get(ctx, KindGate, "", s.keys.gate())
	switch {
	case errors.Is(err, job.ErrNotFound):
		return job.Gate{}, nil
	case err != nil:
		return job.Gate{Rev: c.Rev}, err
	}
	return *c.Gate, nil
}

// Worker reads a worker's presence. job.ErrNotFound if it is not there.
func (s *Store) Worker(ctx context.Context, name string) (job.Worker, error) {
	c, err := s.get(ctx, KindWorkers, name, s.keys.worker(name))
	if err != nil {
		return job.Worker{}, err
	}
	return *c.Worker, nil
}

// Replica reads a replica's presence. job.ErrNotFound if it is not there.
func (s *Store) Replica(ctx context.Context, name string) (job.Replica, error) {
	c, err := s.get(ctx, KindReplicas, name, s.keys.replica(name))
	if err != nil {
		return job.Replica{}, err
	}
	return *c.Replica, nil
}
