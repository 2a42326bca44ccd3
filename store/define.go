package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutJob creates or replaces a definition. j.Rev is the revision that it replaces; zero means that the job must not
// exist. If the record is at another revision, the error is job.ErrConflict. PutJob returns j with its new revision.
func (s *Store) PutJob(ctx context.Context, j job.Job) (job.Job, error) {
	err := s.put(ctx, KindJobs, j.Name, &j, &j.Op, &j.Rev)
	return j, err
}

// DeleteJob removes a definition at revision rev, with its cursor and the record of its notifications. The leader ends its runs.
// The error is job.ErrConflict if the record is at another revision, or another client has removed it.
func (s *Store) DeleteJob(ctx context.Context, name string, rev int64) error {
	return s.remove(ctx, KindJobs, name, rev)
}

// Job reads a definition. The error is job.ErrNotFound if there is none. It is job.ErrUnreadable if the record is unreadable: then
// only Rev is set.
func (s *Store) Job(ctx context.Context, name string) (job.Job, error) {
	j, rev, err := get[job.Job](ctx, s, KindJobs, name)
	if err != nil {
		return job.Job{Rev: rev}, err
	}
	j.Spec = new(*j.Spec) // callers may change it, and decodeJob shares it between jobs
	return j, nil
}

// PutLimit is PutJob for a limit.
func (s *Store) PutLimit(ctx context.Context, l job.Limit) (job.Limit, error) {
	err := s.put(ctx, KindLimits, l.Name, &l, &l.Op, &l.Rev)
	return l, err
}

// DeleteLimit is DeleteJob for a limit. Runs that name it wait until it is defined again.
func (s *Store) DeleteLimit(ctx context.Context, name string, rev int64) error {
	return s.remove(ctx, KindLimits, name, rev)
}

// Limit is Job for a limit.
func (s *Store) Limit(ctx context.Context, name string) (job.Limit, error) {
	l, rev, err := get[job.Limit](ctx, s, KindLimits, name)
	if err != nil {
		return job.Limit{Rev: rev}, err
	}
	return l, nil
}

// PutBackfill creates or replaces the backfill of a job. b.Rev is the revision that it replaces; zero means that there must be
// none. If the record is at another revision, the error is job.ErrConflict. PutBackfill returns b with its new revision.
func (s *Store) PutBackfill(ctx context.Context, b job.Backfill) (job.Backfill, error) {
	err := s.put(ctx, KindBackfills, b.Job, &b, &b.Op, &b.Rev)
	return b, err
}

// Backfill is Job for the backfill of a job.
func (s *Store) Backfill(ctx context.Context, name string) (job.Backfill, error) {
	b, rev, err := get[job.Backfill](ctx, s, KindBackfills, name)
	if err != nil {
		return job.Backfill{Rev: rev}, err
	}
	return b, nil
}

// PutGate replaces the cluster-wide pause.
func (s *Store) PutGate(ctx context.Context, g job.Gate) (job.Gate, error) {
	err := s.put(ctx, KindGate, "", &g, &g.Op, &g.Rev)
	return g, err
}

// Gate reads the cluster-wide pause. It returns the zero Gate if no pause was ever written. If the record is unreadable,
// it returns the same error as Job.
func (s *Store) Gate(ctx context.Context) (job.Gate, error) {
	g, rev, err := get[job.Gate](ctx, s, KindGate, "")
	switch {
	case errors.Is(err, job.ErrNotFound):
		return job.Gate{}, nil
	case err != nil:
		return job.Gate{Rev: rev}, err
	}
	return g, nil
}

// PutFiles replaces the record of the job files in force.
func (s *Store) PutFiles(ctx context.Context, f job.Files) (job.Files, error) {
	err := s.put(ctx, KindFiles, "", &f, &f.Op, &f.Rev)
	return f, err
}

// Files reads which job files are in force. It returns the zero Files if none ever were. If the record is unreadable,
// it returns the same error as Job.
func (s *Store) Files(ctx context.Context) (job.Files, error) {
	f, rev, err := get[job.Files](ctx, s, KindFiles, "")
	switch {
	case errors.Is(err, job.ErrNotFound):
		return job.Files{}, nil
	case err != nil:
		return job.Files{Rev: rev}, err
	}
	return f, nil
}

// Worker reads a worker's presence. The error is job.ErrNotFound if the worker is not present.
func (s *Store) Worker(ctx context.Context, name string) (job.Worker, error) {
	w, _, err := get[job.Worker](ctx, s, KindWorkers, name)
	return w, err
}

// Replica is Worker for a replica.
func (s *Store) Replica(ctx context.Context, name string) (job.Replica, error) {
	r, _, err := get[job.Replica](ctx, s, KindReplicas, name)
	return r, err
}

// put creates or replaces the record that v points to. *rev is the revision that it replaces; zero means that the
// record must not exist. op and rev point to fields of v, and put sets both.
func (s *Store) put(ctx context.Context, kind Kind, name string, v any, op *string, rev *int64) error {
	w := s.writeOf(kind, name)
	*op = w.id
	if err := w.put(s.keys.record(kind, name), *rev, v); err != nil {
		return err
	}
	if *rev == 0 && familyOf(kind).tombstones {
		w.refuseTombstone(s.keys.tombstone(kind, name))
	}
	out, err := s.exactly(ctx, w)
	if err != nil {
		return fmt.Errorf("write %s: %w", title(kind, name), err)
	}
	*rev = out.rev
	return nil
}

// remove removes a record at revision rev and its companions at any revision, and leaves a tombstone.
func (s *Store) remove(ctx context.Context, kind Kind, name string, rev int64) error {
	w := s.writeOf(kind, name)
	w.drop(s.keys.record(kind, name), rev)
	for _, companion := range familyOf(kind).companions {
		w.dropAnyway(s.keys.record(companion, name))
	}
	w.leaveTombstone(s.keys.tombstone(kind, name))
	if _, err := s.exactly(ctx, w); err != nil {
		return fmt.Errorf("delete %s: %w", title(kind, name), err)
	}
	return nil
}

// writeOf returns an empty write for one record. Writes of one job share a lane with the leader's decisions about it.
func (s *Store) writeOf(kind Kind, name string) *write {
	lane := s.keys.record(kind, name)
	if kind == KindJobs || kind == KindBackfills {
		lane = name
	}
	return &write{id: s.ids.next(), lane: lane}
}

// get reads one record, with its revision. The error is job.ErrNotFound if there is none. It is job.ErrUnreadable if the record is
// unreadable: then only the revision is valid.
func get[T any](ctx context.Context, s *Store, kind Kind, name string) (record T, rev int64, err error) {
	key := s.keys.record(kind, name)
	resp, err := s.ask(ctx, tryTimeout, key)
	if err != nil {
		return record, 0, fmt.Errorf("read %s: %w", title(kind, name), err)
	}
	if len(resp.Kvs) == 0 {
		return record, 0, fmt.Errorf("%s: %w", title(kind, name), job.ErrNotFound)
	}
	c := decodeKV(kind, name, resp.Kvs[0])
	if c.Bad != nil {
		return record, c.Rev, unreadable(key, c.Bad)
	}
	return *job.ValueOf[T](c), c.Rev, nil
}

// title names a record in error messages: "job backup".
func title(kind Kind, name string) string {
	return strings.TrimSpace(familyOf(kind).noun + " " + name)
}

func unreadable(key string, bad error) error {
	return fmt.Errorf("%w: %s: %w", job.ErrUnreadable, key, bad)
}
