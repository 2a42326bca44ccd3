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

// exactly is free.do for a write that creates, replaces or removes one record on behalf of somebody who is to be told the truth
// also where others have changed that record since: a sending of w that was not answered may have been applied before them.
func (s *Store) exactly(ctx context.Context, w *write) (*written, error) {
	creates := w.stone != "" && w.value != nil
	for since := max(s.count.reached.last(), w.guards[0].GetModRevision()); ; { // no sending can be applied before
		if creates {
			w.since(since)
		}
		out, err := s.free.do(ctx, w)
		if err != job.ErrConflict {
			return out, err
		}
		if w.open {
			rev, err := s.tookPlace(ctx, w, since)
			switch {
			case err != nil:
				return out, fmt.Errorf("outcome unknown: the record has changed since: %w", err)
			case rev != 0:
				return &written{rev: rev}, nil
			}
		}
		if !creates || out.seen[w.probe[0]] != nil {
			return out, err
		}
		since, w.open = out.looked, false // others have removed one meanwhile, and no sending so far can be applied any more
	}
}

// errForgotten is that nobody can tell what was at a key meanwhile.
var errForgotten = errors.New("etcd does not tell what was there meanwhile")

// tookPlace is the revision at which w took place, begun after revision since and refused in the end; zero if it did not, and
// never will. The first change of the record tells: if it is not that of w, the guards of w have not held from then on.
func (s *Store) tookPlace(ctx context.Context, w *write, since int64) (rev int64, err error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), tryTimeout)
	defer cancel()
	key := w.probe[0]
	before, err := s.client.Get(ctx, key, clientv3.WithRev(max(since, 1)), clientv3.WithKeysOnly()) // 1: of an empty etcd
	if err != nil {
		return 0, err
	}
	if at := modRevision(before.Kvs); at != w.guards[0].GetModRevision() {
		return 0, nil // so nothing need ever change
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

// firstChange is the first one of a key after a revision, as etcd remembers it.
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

// removedBy is rev if the removal at rev was that of w, as its tombstone tells, and zero if it was another one.
func (s *Store) removedBy(ctx context.Context, w *write, rev int64) (int64, error) {
	resp, err := s.client.Get(ctx, w.stone, clientv3.WithRev(rev))
	if err != nil {
		return 0, err
	}
	if modRevision(resp.Kvs) == rev {
		c := decode(KindTombstones, "", resp.Kvs[0].Value, rev)
		if stone := job.ValueOf[tombstone](c); stone != nil && stone.Op == w.id {
			return rev, nil
		}
		return 0, c.Bad
	}
	if w.bare {
		return 0, errForgotten
	}
	return 0, nil
}

// modRevision is that of the key that was asked for, zero if it is not there.
func modRevision(kvs []*mvccpb.KeyValue) int64 {
	if len(kvs) == 0 {
		return 0
	}
	return kvs[0].ModRevision
}
