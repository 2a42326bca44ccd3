package store

import (
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Feed hands one reader the changes of a mirror in the order of revisions.
type Feed struct {
	mirror  *Mirror
	mu      sync.Mutex
	tail    bool
	changes []job.Change  // guarded by mu
	ready   chan struct{} // holds a token while changes is not empty
}

// Feed returns a new feed. It delivers all records that exist, and then every change. It buffers without bound, so its
// reader must keep reading until Unfeed.
func (m *Mirror) Feed() *Feed {
	f := &Feed{mirror: m, ready: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, records := range m.records {
		n += len(records)
	}
	all := make([]job.Change, 0, n)
	for kind, records := range m.records {
		for name, r := range records {
			all = append(all, r.change(kind, name))
		}
	}
	slices.SortFunc(all, byRev)
	f.add(all)
	m.feeds = append(m.feeds, f)
	return f
}

// Tail returns a feed and a revision. The feed delivers every change after this revision, events included. Its reader
// must keep reading until Unfeed.
func (m *Mirror) Tail() (*Feed, int64) {
	f := &Feed{mirror: m, tail: true, ready: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feeds = append(m.feeds, f)
	m.tails++
	return f, m.rev
}

// Unfeed ends f.
func (m *Mirror) Unfeed(f *Feed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.feeds, f)
	if i < 0 {
		return
	}
	m.feeds = slices.Delete(m.feeds, i, i+1)
	if f.tail {
		m.tails--
	}
}

func (f *Feed) add(changes []job.Change) {
	if len(changes) == 0 {
		return
	}
	f.mu.Lock()
	if f.changes == nil { // avoids a copy of the long first list
		f.changes = slices.Clip(changes)
	} else {
		f.changes = append(f.changes, changes...)
	}
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// Ready returns a channel that receives a value when Take has changes to return.
func (f *Feed) Ready() <-chan struct{} { return f.ready }

// Heard returns an instant. Every record that the store held at this instant was in an earlier Take, or is in the next
// one. It is zero before the first list.
func (f *Feed) Heard() time.Time {
	_, heard := f.mirror.Current()
	return heard
}

// Take returns the changes since the last Take.
func (f *Feed) Take() []job.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.changes
	f.changes = nil
	return out
}
