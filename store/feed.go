package store

import (
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Feed hands one reader every change of a mirror, in the order of revisions: first all that is there, then what comes.
type Feed struct {
	mirror  *Mirror
	mu      sync.Mutex
	tail    bool
	changes []job.Change  // guarded by mu
	ready   chan struct{} // holds a token while changes is not empty
}

// Feed returns a new feed. It keeps what is not taken, so its reader must not stop reading before Unfeed.
func (m *Mirror) Feed() *Feed {
	f := &Feed{mirror: m, ready: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []job.Change
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

// Unfeed ends f.
func (m *Mirror) Unfeed(f *Feed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.feeds {
		if m.feeds[i] == f {
			m.feeds = append(m.feeds[:i], m.feeds[i+1:]...)
			if f.tail {
				m.tails--
			}
			return
		}
	}
}

func (f *Feed) add(changes []job.Change) {
	if len(changes) == 0 {
		return
	}
	f.mu.Lock()
	if f.changes == nil { // the usual case, and a long list at the start
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

// Ready receives when Take has something to give.
func (f *Feed) Ready() <-chan struct{} { return f.ready }

// Heard is an instant of which everything that was in the store has been given, or is with the next Take; the zero time if there
// is none.
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
