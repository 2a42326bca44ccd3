package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watched is a watch with everything that it has received.
type watched struct {
	events clientv3.WatchChan
	seen   []string
	last   int64 // the revision of the last event
	synced int64 // the last revision known to have been delivered
	over   bool
}

func (s *side) watch(key string, opts ...clientv3.OpOption) {
	s.watches = append(s.watches, &watched{events: s.Watch(s.ctx, key, opts...)})
}

// settle reads all watches until each has every event up to the present
// revision, or has ended.
func (s *side) settle() {
	rev := s.rev(s.now())
	for _, w := range s.watches {
		for !w.over && w.synced < rev {
			// A server answers only when all its watches are up to date.
			if err := s.RequestProgress(s.ctx); err != nil {
				s.t.Fatalf("%s: request progress: %v", s.name, err)
			}
			select {
			case r, ok := <-w.events:
				s.take(w, r, ok)
			case <-time.After(20 * time.Millisecond):
			case <-s.ctx.Done():
				s.t.Fatalf("%s: watch is at %d, not %d, and nothing comes", s.name, s.relative(w.synced), s.relative(rev))
			}
		}
	}
}

// take records a response of a watch.
func (s *side) take(w *watched, r clientv3.WatchResponse, ok bool) {
	if !ok {
		w.seen, w.over = append(w.seen, "closed"), true
		return
	}
	if r.IsProgressNotify() {
		w.synced = max(w.synced, r.Header.Revision)
	}
	for i, e := range r.Events {
		if i == 0 && e.Kv.ModRevision == w.last {
			s.t.Fatalf("%s: revision %d is split over two responses", s.name, s.relative(w.last))
		}
		w.seen = append(w.seen, s.event(e))
	}
	if n := len(r.Events); n > 0 {
		w.last = r.Events[n-1].Kv.ModRevision
		if !slices.IsSortedFunc(r.Events, func(a, b *clientv3.Event) int { return int(a.Kv.ModRevision - b.Kv.ModRevision) }) {
			s.t.Fatalf("%s: events are out of order: %v", s.name, r.Events)
		}
		if r.Header.Revision < w.last {
			s.t.Fatalf("%s: header revision %d is below the event's %d", s.name, r.Header.Revision, w.last)
		}
	}
	if err := r.Err(); err != nil {
		// etcd may change the text of this error, so it is not compared.
		if !strings.Contains(err.Error(), "range is empty") {
			w.seen = append(w.seen, fmt.Sprintf("%v compacted %d canceled %v", errors.Unwrap(fmt.Errorf("%w", err)), s.relative(r.CompactRevision), r.Canceled))
		}
	}
}

// compareWatches settles both sides and compares what their watches saw.
func compareWatches(t *rapid.T, real, fake *side) {
	real.settle()
	fake.settle()
	for i, w := range real.watches {
		got, want := fake.watches[i].seen, w.seen
		if !slices.Equal(got, want) {
			t.Fatalf("watch %d\n got\n\t%s\nwant\n\t%s", i, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
}
