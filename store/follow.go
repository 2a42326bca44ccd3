package store

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// follower receives the records under a prefix, and then every change of them in the order of revisions.
type follower struct {
	consumer
	begin func()                       // a list begins: drop the pages of an earlier, unfinished list
	page  func(kvs []*mvccpb.KeyValue) // a part of the list
	reset func(rev int64)              // the list was complete at rev: keys that are not in it do not exist
}

// follow keeps f up to date until ctx ends, and returns the cause of ctx. It lists, and then watches from the next revision on. It
// starts again whenever the watch fails, falls behind a compaction, or is silent.
func (s *Store) follow(ctx context.Context, prefix string, f follower) error {
	pause := minPause
	for {
		began := time.Now()
		err := s.followOnce(ctx, prefix, f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		level := hclog.Info // expected while etcd elects a leader
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
	rev, err := s.pages(clientv3.WithRequireLeader(ctx), prefix, f.page)
	switch {
	case err != nil:
		return err
	case s.count.reached.wentBack() != 0:
		return fmt.Errorf("list %s: %w", prefix, errWentBack)
	}
	f.reset(rev)
	f.current(began)
	watch, err := s.open(ctx, prefix, rev)
	if err != nil {
		return err
	}
	return s.read(watch, f.consumer)
}
