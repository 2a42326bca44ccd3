package store

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

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
		switch c := s.seen(out, KindRuns, r.Name(), w.probe[0]); {
		case c.Run != nil:
			return *c.Run, err
		case c.Bad != nil && r.Rev != 0:
			return job.Run{}, unreadable(w.probe[0], c.Bad)
		}
		return job.Run{}, err
	}
	return r, fmt.Errorf("write run %s: %w", r.Name(), err)
}

// Orders delivers the orders of a worker, those that wait and then new ones, until ctx ends. An order may be delivered
// more than once. An order that cannot be read is removed, since nobody else would. OrdersHeard says how current it is.
func (s *Store) Orders(ctx context.Context, worker string, deliver func(job.Order)) error {
	prefix := s.keys.queue(worker)
	take := func(kv *mvccpb.KeyValue) {
		id := string(kv.Key[len(prefix):])
		o, err := decodeOrder(id, kv.Value, kv.ModRevision)
		if err != nil {
			s.log.Error("order is unreadable and removed", "key", string(kv.Key), "err", err)
			_ = s.CloseOrder(ctx, worker, id)
			return
		}
		deliver(o)
	}
	return s.follow(ctx, prefix, follower{
		begin: func() {},
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				take(kv)
			}
		},
		reset: func(int64) {},
		apply: func(_ int64, events []*clientv3.Event) {
			for _, ev := range events {
				if ev.Type == clientv3.EventTypePut {
					take(ev.Kv)
				}
			}
		},
		current: s.count.ordered,
	})
}

// CloseOrder removes an order that has nothing left to claim.
func (s *Store) CloseOrder(ctx context.Context, worker, id string) error {
	key := s.keys.order(worker, id)
	w := &write{}
	w.dropAnyway(key)
	if _, err := s.free.do(ctx, w); err != nil {
		return fmt.Errorf("close order %s of worker %s: %w", id, worker, err)
	}
	return nil
}

// Record keeps an event. One that exists under the same job and id is this one, and stays.
func (s *Store) Record(ctx context.Context, e job.Event) error {
	key := s.keys.event(e.Job, e.ID)
	w := &write{lane: key}
	if err := w.put(key, 0, e); err != nil {
		return err
	}
	if _, err := s.free.do(ctx, w); err != nil && err != job.ErrConflict {
		return fmt.Errorf("record event %s/%s: %w", e.Job, e.ID, err)
	}
	return nil
}

// Run reads the record of a run, all of it. job.ErrNotFound if there is none.
func (s *Store) Run(ctx context.Context, jobName, id string) (job.Run, error) {
	c, err := s.get(ctx, KindRuns, jobName+"/"+id, s.keys.run(jobName, id))
	if err != nil {
		return job.Run{}, err
	}
	return *c.Run, nil
}

// Job reads a definition. job.ErrNotFound if there is none; job.ErrUnreadable, and nothing but its Rev, if nobody can read it.
func (s *Store) Job(ctx context.Context, name string) (job.Job, error) {
	c, err := s.get(ctx, KindJobs, name, s.keys.job(name))
	if err != nil {
		return job.Job{Rev: c.Rev}, err
	}
	j := *c.Job
	j.Spec = new(*j.Spec) // or else who changes it would change that of other jobs
	return j, nil
}

// get reads one record. job.ErrNotFound if there is none, job.ErrUnreadable if nobody can read it.
func (s *Store) get(ctx context.Context, kind Kind, name, key string) (job.Change, error) {
	resp, err := s.ask(ctx, tryTimeout, key)
	if err != nil {
		return job.Change{}, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	if len(resp.Kvs) == 0 {
		return job.Change{}, fmt.Errorf("%s %s: %w", kind, name, job.ErrNotFound)
	}
	c := decodeKV(kind, name, resp.Kvs[0])
	if c.Bad != nil {
		return c, unreadable(key, c.Bad)
	}
	return c, nil
}

func unreadable(key string, bad error) error {
	return fmt.Errorf("%w: %s: %w", job.ErrUnreadable, key, bad)
}

// Events returns the newest events of a job, the latest first, at most limit.
func (s *Store) Events(ctx context.Context, jobName string, limit int) ([]job.Event, error) {
	prefix := s.keys.events(jobName)
	resp, err := s.ask(ctx, tryTimeout, prefix, clientv3.WithPrefix(), clientv3.WithLimit(int64(limit)),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	if err != nil {
		return nil, fmt.Errorf("read events of job %s: %w", jobName, err)
	}
	events := make([]job.Event, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		if c := decode(KindEvents, jobName+"/"+string(kv.Key[len(prefix):]), kv.Value, kv.ModRevision); c.Event != nil {
			events = append(events, *c.Event)
		}
	}
	return events, nil
}

// Revision returns the present revision of the store, asked of its majority.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	resp, err := s.ask(ctx, tryTimeout, s.keys.gate(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("ask for the revision: %w", err)
	}
	s.hear()
	return resp.Header.Revision, nil
}
