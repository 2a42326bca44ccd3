package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// exactly sends a write that creates, replaces or removes records, as free.do does. Its answer is also right if another
// client has changed them since: an unanswered sending of w may have been applied before that change.
func (s *Store) exactly(ctx context.Context, w *write) (*written, error) {
	creates := w.tombstone != "" && w.value != nil
	since := s.count.reached.get() // etcd applies no sending of w at or before since
	for _, g := range w.guards {
		since = max(since, g.GetModRevision())
	}
	for {
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
// since, and its last sending was refused. The first change of one of its records after since decides: if it is not that
// of w, the guards of w have failed from then on.
func (s *Store) appliedAt(ctx context.Context, w *write, since int64) (rev int64, err error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), tryTimeout)
	defer cancel()
	for i, key := range w.probe {
		before, err := s.client.Get(ctx, key, clientv3.WithRev(max(since, 1)), clientv3.WithKeysOnly()) // 1: for an empty etcd
		switch {
		case err != nil:
			return 0, err
		case modRevision(before.Kvs) != w.guards[i].GetModRevision():
			return 0, nil // the guards failed at since already, and a later change may never come
		}
	}
	first, err := s.firstChange(ctx, since, w.probe...)
	switch {
	case err != nil:
		return 0, err
	case string(first.Key) != w.probe[0] || !bytes.Equal(first.Value, w.value):
		return 0, nil
	case w.value != nil:
		return first.ModRevision, nil
	}
	return s.removedBy(ctx, w, first.ModRevision)
}

// firstChange returns the first change of one of some keys after a revision. If that revision changed several of them, it
// is the change of the first in keys.
func (s *Store) firstChange(ctx context.Context, after int64, keys ...string) (*mvccpb.KeyValue, error) {
	for resp := range s.client.Watch(ctx, slices.Min(keys), clientv3.WithRange(slices.Max(keys)+"\x00"), clientv3.WithRev(after+1)) {
		if resp.Err() != nil {
			return nil, resp.Err()
		}
		var first *mvccpb.KeyValue
		place := len(keys)
		for _, ev := range resp.Events { // all changes of a revision arrive together
			i := slices.Index(keys, string(ev.Kv.Key))
			if i >= 0 && (first == nil || ev.Kv.ModRevision == first.ModRevision && i < place) {
				first, place = ev.Kv, i
			}
		}
		if first != nil {
			return first, nil
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
