package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Watch delivers the changes of all mirrored records and events after a revision, or from now on if after is 0, those
// of one revision together. from is where it begins: later than after if what lies between has been compacted or has
// never been. The channel is closed when ctx ends, and when the watch does or has been silent for a while though there
// is something to tell; the reader has to keep up until then.
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
		s.relay(watch, from, out)
	}) {
		watch.end()
		return 0, nil, fmt.Errorf("watch %s: store is closed: %w", s.keys.All(), context.Canceled)
	}
	return from, out, nil
}

// relay hands on what watch tells after a revision until one of them ends, or the watch tells nothing any more.
func (s *Store) relay(watch *stream, after int64, out chan<- []job.Change) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer watch.end()
	marks := make(chan mark)
	wg.Go(func() { s.probe(watch, nil, marks) })
	v := vigil{prefix: s.keys.All(), reached: after, heard: time.Now()}
	for {
		select {
		case <-watch.ctx.Done():
			return
		case m := <-marks:
			if err := v.marked(m, time.Now()); err != nil {
				s.log.Info("events are not told any more", "err", err)
				return
			}
		case resp, ok := <-watch.told:
			if !ok || resp.Err() != nil {
				return
			}
			v.told(&resp, time.Now())
			for _, batch := range s.changes(resp.Events) {
				select {
				case out <- batch:
				case <-watch.ctx.Done():
					return
				}
			}
		}
		v.current()
	}
}

// compacted says whether what happened at rev is not there any more. A watch from such a revision ends as soon as it has
// begun. It cannot be asked of a revision to come, such as the one after now.
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
