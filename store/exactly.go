package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// exactly sends a write that creates, replaces or removes one record, as free.do does. Its answer is also right if
// another client has changed the record since: an unanswered sending of w may have been applied before that change.
func (s *Store) exactly(ctx context.Context, w *write) (*written, error) {
	creates := w.tombstone != "" && w.value != nil
	for since := max(s.count.reached.get(), w.guards[0].GetModRevision()); ; { // etcd applies no sending of w at or before since
		if creates {
			w.setTombstoneRev(since)
		}
		out, err := s.free.do(ctx, w)
		if !errors.Is(err, job.ErrConflict) {
			return out, err
		}
		if w.open {
			rev, err := s.appliedAt(ctx, w, since)
			switch {
			case err != nil:
				return out, fmt.Errorf("%w: the record has changed since: %w", job.ErrOutcomeUnknown, err)
			case rev != 0:
				auditDone(ctx)
				return &written{rev: rev}, nil
			}
		}
		if !creates || out.found[w.probe[0]] != nil {
			return out, err
		}
		since, w.open = out.foundAt, false // another client removed a record, and earlier sendings can no longer be applied
	}
}

// errForgotten is returned if etcd has compacted the revisions that would show the outcome of a write.
var errForgotten = errors.New("etcd has compacted the revisions that would show it")

// appliedAt returns the revision at which w was applied; zero if it was not, and never will be. w began after revision
// since, and its last sending was refused. The first change of the record after since decides: if it is not that of w,
// the guards of w have failed from then on.
func (s *Store) appliedAt(ctx context.Context, w *write, since int64) (rev int64, err error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), tryTimeout)
	defer cancel()
	key := w.probe[0]
	before, err := s.client.Get(ctx, key, clientv3.WithRev(max(since, 1)), clientv3.WithKeysOnly()) // 1: for an empty etcd
	if err != nil {
		return 0, err
	}
	if at := modRevision(before.Kvs); at != w.guards[0].GetModRevision() {
		return 0, nil // the guards failed at since already, and a later change may never come
	}
	first, err := s.firstChange(ctx, key, since)
	switch {
	case err != nil:
		return 0, err
	case !bytes.Equal(first.Value, w.value):
		return 0, nil
	case w.value != nil:
		return first.ModRevision, nil
	}
	return s.removedBy(ctx, w, first.ModRevision)
}

// firstChange returns the first change of a key after a revision.
func (s *Store) firstChange(ctx context.Context, key string, after int64) (*mvccpb.KeyValue, error) {
	for resp := range s.client.Watch(ctx, key, clientv3.WithRev(after+1)) {
		switch {
		case resp.Err() != nil:
			return nil, resp.Err()
		case len(resp.Events) > 0:
			return resp.Events[0].Kv, nil
		}
	}
	return nil, cmp.Or(context.Cause(ctx), errForgotten)
}

// removedBy returns rev if the tombstone shows that w made the removal at rev; zero if another write did.
func (s *Store) removedBy(ctx context.Context, w *write, rev int64) (int64, error) {
	resp, err := s.client.Get(ctx, w.tombstone, clientv3.WithRev(rev))
	if err != nil {
		return 0, err
	}
	if modRevision(resp.Kvs) == rev {
		c := decode(KindTombstones, "", resp.Kvs[0].Value, rev)
		if t := job.ValueOf[tombstone](c); t != nil && t.Op == w.id {
			return rev, nil
		}
		return 0, c.Bad
	}
	if w.stripped {
		return 0, errForgotten
	}
	return 0, nil
}

// modRevision returns the revision of the only key in kvs; zero if kvs is empty.
func modRevision(kvs []*mvccpb.KeyValue) int64 {
	if len(kvs) == 0 {
		return 0
	}
	return kvs[0].ModRevision
}
