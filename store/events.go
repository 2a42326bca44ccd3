package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Record creates an event. If the job has an event with this id, it is the same event, and Record does nothing.
func (s *Store) Record(ctx context.Context, e job.Event) error {
	key := s.keys.event(e.Job, e.ID)
	w := &write{lane: key}
	if err := w.put(key, 0, e); err != nil {
		return err
	}
	if _, err := s.free.do(ctx, w); err != nil && !errors.Is(err, job.ErrConflict) {
		return fmt.Errorf("record event %s/%s: %w", e.Job, e.ID, err)
	}
	return nil
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
		c := decode(KindEvents, jobName+"/"+string(kv.Key[len(prefix):]), kv.Value, kv.ModRevision)
		if e := job.ValueOf[job.Event](c); e != nil {
			events = append(events, *e)
		}
	}
	return events, nil
}

// EventsOf reads the events of some jobs, up to a revision. It reads all events, so it is expensive.
func (s *Store) EventsOf(ctx context.Context, jobs map[string]bool, upTo int64) (events []*job.Event, err error) {
	prefix := s.keys.family(KindEvents)
	err = s.each(ctx, KindEvents, func(kvs []*mvccpb.KeyValue) error {
		for _, kv := range kvs {
			name := string(kv.Key[len(prefix):])
			if of, _, _ := strings.Cut(name, "/"); !jobs[of] || kv.ModRevision > upTo {
				continue
			}
			if e := job.ValueOf[job.Event](decode(KindEvents, name, kv.Value, kv.ModRevision)); e != nil {
				events = append(events, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// RecentEvents returns the newest events of all jobs and of the cluster, oldest first, at most limit. It reads all events, so it is
// expensive.
func (s *Store) RecentEvents(ctx context.Context, limit int) (events []*job.Event, err error) {
	prefix := s.keys.family(KindEvents)
	trim := func() {
		slices.SortFunc(events, func(a, b *job.Event) int { return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Job, b.Job)) })
		events = events[max(0, len(events)-limit):]
	}
	err = s.each(ctx, KindEvents, func(kvs []*mvccpb.KeyValue) error {
		for _, kv := range kvs {
			if e := job.ValueOf[job.Event](decode(KindEvents, string(kv.Key[len(prefix):]), kv.Value, kv.ModRevision)); e != nil {
				events = append(events, e)
			}
		}
		if len(events) > 2*limit {
			trim()
		}
		return nil
	})
	trim()
	return events, err
}

// SweepEvents removes the events from before an instant, and returns how many. Only the leader calls it, with the
// context of its term.
func (s *Store) SweepEvents(ctx context.Context, term election.Term, before time.Time) (removed int, err error) {
	oldest := []byte(before.UTC().Format(job.EventStamp))
	removed, err = s.sweep(ctx, term, KindEvents, func(kv *mvccpb.KeyValue) bool {
		id := kv.Key[bytes.LastIndexByte(kv.Key, '/')+1:]
		return bytes.Compare(id, oldest) < 0
	})
	if err != nil {
		return removed, fmt.Errorf("remove events: %w", err)
	}
	return removed, nil
}

// sweep removes the old records of a kind, several in one transaction, and returns how many.
func (s *Store) sweep(
	ctx context.Context, term election.Term, kind Kind, old func(kv *mvccpb.KeyValue) bool,
) (removed int, err error) {
	if term.Rev <= 0 {
		return 0, election.ErrTermLost
	}
	lane := s.keys.family(kind)
	err = s.each(ctx, kind, func(kvs []*mvccpb.KeyValue) error {
		w := &write{lane: lane}
		for i, kv := range kvs {
			if old(kv) {
				w.drop(string(kv.Key), kv.ModRevision)
			}
			if n := len(w.then); n == job.MaxDeletions || n > 0 && i == len(kvs)-1 {
				if _, err := s.led(ctx, term).do(ctx, w); err != nil {
					return err
				}
				removed += n
				w = &write{lane: lane}
			}
		}
		return nil
	})
	return removed, err
}
