package rollcall

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/rota-scheduler/rota/store"
)

// Log is this process's copy of the events of the cluster. It answers even if the store does not.
type Log struct {
	store  *store.Store
	mirror *store.Mirror

	mu     sync.Mutex
	events []*job.Event // guarded by mu: oldest first; nobody changes an event
	read   bool         // guarded by mu: the events of earlier times were read
}

// NewLog returns an empty Log, which Run fills.
func NewLog(s *store.Store, m *store.Mirror) *Log { return &Log{store: s, mirror: m} }

// Run keeps the log up to date until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	tail, _ := l.mirror.Tail()
	defer l.mirror.Unfeed(tail)
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for ctx.Err() == nil {
		for _, c := range tail.Take() {
			if e := job.ValueOf[job.Event](c); e != nil && e.Job == job.ClusterEvents {
				l.add(e)
			}
		}
		if !l.Read() {
			l.load(ctx)
		}
		select {
		case <-ctx.Done():
		case <-tail.Ready():
		case <-again.C:
		}
	}
	return nil
}

// load reads the events that were written before Run began.
func (l *Log) load(ctx context.Context) {
	list, err := l.store.Events(ctx, job.ClusterEvents, timeline.MaxEvents)
	if err != nil {
		loop.Pause(ctx, every)
		return
	}
	for i := range list {
		l.add(&list[i])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = true
}

// add takes over one event, or its later version.
func (l *Log) add(e *job.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, known := slices.BinarySearchFunc(l.events, e, func(a, b *job.Event) int { return strings.Compare(a.ID, b.ID) })
	switch {
	case !known:
		l.events = slices.Insert(l.events, i, e)
	case l.events[i].Rev < e.Rev:
		l.events[i] = e
	}
	if extra := len(l.events) - timeline.MaxEvents; extra > 0 {
		l.events = slices.Delete(l.events, 0, extra)
	}
}

// Read reports whether the log has the events of the time before this process.
func (l *Log) Read() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

// Events returns the events of the cluster, oldest first. Callers must not change them.
func (l *Log) Events() []*job.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}
