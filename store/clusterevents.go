package store

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// RecordCluster writes an event of the cluster, and returns the written event. e.Rev is the revision that it replaces, zero if
// there must be none. It returns job.ErrConflict if the event is at another revision. Only the leader calls it, with the
// context of its term.
func (s *Store) RecordCluster(ctx context.Context, term election.Term, e job.Event) (job.Event, error) {
	if term.Rev <= 0 { // 0 is the create revision of an absent key, so it would pass the guard
		return e, election.ErrTermLost
	}
	e.Job, e.Term = job.ClusterEvents, term.Rev
	w := &write{id: s.ids.next(), lane: s.keys.events(job.ClusterEvents)}
	if err := w.put(s.keys.event(e.Job, e.ID), e.Rev, e); err != nil {
		return e, err
	}
	out, err := s.led(ctx, term).do(ctx, w)
	if err != nil {
		return e, fmt.Errorf("record event %s/%s: %w", e.Job, e.ID, err)
	}
	e.Rev = out.rev
	return e, nil
}

// TrimCluster removes the events of the cluster whose ids sort before an id, and returns how many. Only the leader calls it, with
// the context of its term.
func (s *Store) TrimCluster(ctx context.Context, term election.Term, before string) (removed int, err error) {
	prefix, oldest := []byte(s.keys.events(job.ClusterEvents)), []byte(s.keys.event(job.ClusterEvents, before))
	removed, err = s.sweep(ctx, term, KindEvents, func(kv *mvccpb.KeyValue) bool {
		return bytes.HasPrefix(kv.Key, prefix) && bytes.Compare(kv.Key, oldest) < 0
	})
	if err != nil {
		return removed, fmt.Errorf("remove events of the cluster: %w", err)
	}
	return removed, nil
}
