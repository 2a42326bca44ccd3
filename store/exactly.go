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

// exactly is free.do for a write that replaces or removes one record on behalf of somebody who is to be told the truth also where
// others have changed that record since: a sending of w that was not answered may have been applied before them. Removals do not
// tell whose they are: if one followed upon the record that w was to remove, it counts as that of w.
func (s *Store) exactly(ctx context.Context, w *write) (*written, error) {
	out, err := s.free.do(ctx, w)
	if err != job.ErrConflict || !w.open {
		return out, err
	}
	next, err := s.successor(ctx, w, out)
	switch {
	case err != nil:
		return out, fmt.Errorf("outcome unknown: the record has changed since: %w", err)
	case !bytes.Equal(next.Value, w.value):
		return out, job.ErrConflict
	}
	return &written{rev: next.ModRevision}, nil
}

// errForgotten is that nobody can tell what was at a key meanwhile.
var errForgotten = errors.New("etcd does not tell what was there meanwhile")

// successor is what took the place of the record that w was to replace, or create, as etcd remembers it. If that is not w, it
// never will be: revisions only grow. One that w was to create is an exception: where others remove it again, a sending of w that
// was lost for so long may still create it.
func (s *Store) successor(ctx context.Context, w *write, out *written) (*mvccpb.KeyValue, error) {
	ctx, cancel := context.WithTimeout(s.ownStream(ctx), tryTimeout)
	defer cancel()
	key, after := string(w.guards[0].Key), w.guards[0].GetModRevision()
	if after == 0 {
		there := out.seen[key]
		if there == nil {
			return nil, errForgotten
		}
		after = there.created - 1
	}
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
