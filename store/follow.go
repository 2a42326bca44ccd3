package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// follower is told what is under a prefix, and every change of it in the order of revisions.
type follower struct {
	begin   func()                                    // a list begins, and what came of one before is void
	page    func(kvs []*mvccpb.KeyValue)              // a part of the list
	reset   func(rev int64)                           // the list was all there is at rev; what was known before and is not in it is gone
	apply   func(rev int64, events []*clientv3.Event) // with these, everything up to rev is told
	current func(at time.Time)                        // what has been told is all that there was at this instant
	ask     <-chan struct{}                           // asks for a probe at once; may be nil
}

// follow keeps f up to date until ctx ends: it lists, watches from the next revision on, and begins anew whenever the
// watch is compacted away, closed, or silent. It returns only the cause of ctx.
func (s *Store) follow(ctx context.Context, prefix string, f follower) error {
	pause := minPause
	for {
		began := time.Now()
		err := s.followOnce(ctx, prefix, f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		level := hclog.Info // while etcd elects, this is to be expected
		if time.Since(began) > 10*maxPause {
			level, pause = hclog.Warn, minPause
		}
		s.count.relists.Add(1)
		s.log.Log(level, "watch ended, listing anew", "prefix", prefix, "err", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

func (s *Store) followOnce(ctx context.Context, prefix string, f follower) error {
	began := time.Now()
	f.begin()
	reached, err := s.pages(clientv3.WithRequireLeader(ctx), prefix, f.page)
	if err != nil {
		return err
	}
	f.reset(reached)
	f.current(began)

	watch, err := s.open(ctx, prefix, reached)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer watch.end()
	marks := make(chan mark)
	wg.Go(func() { s.probe(watch, f.ask, marks) })

	for v := (vigil{prefix: prefix, reached: reached, heard: time.Now()}); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-marks:
			if err := v.marked(m, time.Now()); err != nil {
				return err
			}
		case resp, ok := <-watch.told:
			if !ok {
				return fmt.Errorf("watch %s: closed", prefix)
			}
			if err := resp.Err(); err != nil {
				return fmt.Errorf("watch %s: %w", prefix, err)
			}
			s.hurry.led(resp.Header.RaftTerm)
			before := v.reached
			if v.told(&resp, time.Now()); v.reached > before || len(resp.Events) > 0 {
				s.count.reached.note(resp.Header.ClusterId, v.reached)
				f.apply(v.reached, resp.Events)
			}
		}
		if at, ok := v.current(); ok {
			f.current(at)
		}
	}
}
