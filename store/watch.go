package store

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Watch delivers the changes of all mirrored records and events after a revision, those of one revision together.
// Unlike a Mirror, it delivers whole records and can begin in the past. It begins at the present revision if after is
// 0, if the changes after it are compacted, or if it is a future revision. It delivers the changes after from.
//
// Watch closes the channel when ctx ends, and when the watch fails or is silent. Until then the caller must keep
// reading.
func (s *Store) Watch(ctx context.Context, after int64) (from int64, changes <-chan []job.Change, err error) {
	now, err := s.Revision(ctx)
	if err != nil {
		return 0, nil, err
	}
	from = after
	if after <= 0 || after > now || s.compacted(ctx, after+1, now) {
		from = now
	}
	watch, err := s.open(ctx, s.keys.All(), from)
	if err != nil {
		return 0, nil, err
	}
	out := make(chan []job.Change)
	if !s.running.start(func() {
		defer close(out)
		defer context.AfterFunc(s.ctx, watch.end)()
		err := s.read(watch, consumer{apply: func(_ int64, events []*clientv3.Event) { s.send(watch.ctx, events, out) }})
		if ctx.Err() == nil && s.ctx.Err() == nil {
			s.log.Info("watch of changes ended", "err", err)
		}
	}) {
		watch.end()
		return 0, nil, fmt.Errorf("watch %s: store is closed: %w", s.keys.All(), context.Canceled)
	}
	return from, out, nil
}

// send sends the changes that events made, until ctx ends.
func (s *Store) send(ctx context.Context, events []*clientv3.Event, out chan<- []job.Change) {
	for _, batch := range s.changes(events) {
		select {
		case out <- batch:
		case <-ctx.Done():
			return
		}
	}
}

// compacted reports whether etcd has forgotten what happened at rev. A watch from such a revision ends at once. A
// revision after now is not compacted.
func (s *Store) compacted(ctx context.Context, rev, now int64) bool {
	if rev > now {
		return false
	}
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	_, err := s.client.Get(try, s.keys.record(KindGate, ""), clientv3.WithCountOnly(), clientv3.WithRev(rev))
	return isCode(err, rpctypes.ErrCompacted)
}

// changes decodes events, those of one revision together.
func (s *Store) changes(events []*clientv3.Event) (batches [][]job.Change) {
	var last int64
	for _, ev := range events {
		kind, name, ok := s.keys.Parse(string(ev.Kv.Key))
		if !ok || !familyOf(kind).reported() {
			continue
		}
		c := job.Change{Kind: kind, Name: name, Rev: ev.Kv.ModRevision}
		if ev.Type == clientv3.EventTypePut {
			c = decodeKV(kind, name, ev.Kv)
		}
		if c.Rev != last || len(batches) == 0 {
			batches = append(batches, nil)
			last = c.Rev
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], c)
	}
	return batches
}
