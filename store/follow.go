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

// How a watch is kept honest. Every probeEvery, etcd's majority is asked for its revision. A watch that does not get
// there, and says nothing at all, for silence is given up, and so is one that etcd does not take on for as long.
const (
	probeEvery = 3 * time.Second
	silence    = 12 * time.Second
)

// follower is told what is under a prefix, and every change of it in the order of revisions.
type follower struct {
	reset   func(rev int64, kvs []*mvccpb.KeyValue)   // all there is at rev; what was known before and is not in kvs is gone
	apply   func(rev int64, events []*clientv3.Event) // with these, everything up to rev is told
	current func(at time.Time)                        // what has been told is all that there was at this instant
	ask     <-chan struct{}                           // asks for a probe at once; may be nil
}

// mark is a revision that etcd's majority had reached at an instant.
type mark struct {
	rev int64
	at  time.Time
}

// follow keeps f up to date until ctx ends: it lists, watches from the next revision on, and begins anew whenever the
// watch is compacted away, closed, or silent. It returns only the cause of ctx.
func (s *Store) follow(ctx context.Context, prefix string, f follower) error {
	stream := s.ownStream(ctx)
	pause := minPause
	for {
		began := time.Now()
		err := s.followOnce(stream, prefix, f)
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
	kvs, reached, err := s.list(ctx, prefix)
	if err != nil {
		return err
	}
	f.reset(reached, kvs)
	f.current(began)
	kvs = nil

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	overdue := time.AfterFunc(silence, cancel) // Watch returns when etcd has taken the watch on
	watch := s.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(reached+1))
	if !overdue.Stop() {
		return fmt.Errorf("watch %s: not taken on for %v", prefix, silence)
	}
	marks := make(chan mark)
	wg.Go(func() { s.probe(ctx, f.ask, marks) })

	var want mark // the oldest that is not reached; the zero mark if there is none
	for heard := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-marks:
			if want.rev == 0 {
				want = m
			}
			if quiet := time.Since(later(heard, want.at)); want.rev > reached && quiet > silence {
				return fmt.Errorf("watch %s: at revision %d, etcd at %d, and nothing heard for %v", prefix, reached, m.rev, quiet.Round(time.Second))
			}
		case resp, ok := <-watch:
			if !ok {
				return fmt.Errorf("watch %s: closed", prefix)
			}
			if err := resp.Err(); err != nil {
				return fmt.Errorf("watch %s: %w", prefix, err)
			}
			heard = time.Now()
			// The header of a response with events may be ahead of them: what a watch has missed comes in parts.
			switch n := len(resp.Events); {
			case n > 0:
				reached = resp.Events[n-1].Kv.ModRevision
				s.count.reach(reached)
				f.apply(reached, resp.Events)
			case resp.IsProgressNotify() && resp.Header.Revision > reached:
				reached = resp.Header.Revision
				f.apply(reached, nil)
			}
		}
		if want.rev != 0 && want.rev <= reached {
			f.current(want.at)
			want = mark{}
		}
	}
}

// probe asks etcd's majority for its revision now and then, and has the watch of ctx told to say how far it is. A member
// that is cut off answers the latter by itself, so that alone proves nothing.
func (s *Store) probe(ctx context.Context, ask <-chan struct{}, marks chan<- mark) {
	timer := time.NewTicker(probeEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-ask:
		}
		asked := time.Now()
		rev, err := s.Revision(ctx)
		if err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case marks <- mark{rev, asked}:
		}
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		_ = s.client.RequestProgress(try) // the watch itself says what became of it
		cancel()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
