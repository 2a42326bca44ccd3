package rollcall

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/rota-scheduler/rota/store"
)

// Log is this process's copy of the latest events of the cluster and of jobs, of the changes by clients, and of the farewells of
// replicas. It answers even if the store does not.
type Log struct {
	store  *store.Store
	mirror *store.Mirror

	mu      sync.Mutex
	cluster list                    // guarded by mu
	jobs    list                    // guarded by mu
	changes []*job.Audit            // guarded by mu: oldest first, without those that only submit a run
	read    bool                    // guarded by mu: the events of earlier times were read
	left    map[string]*job.Replica // guarded by mu: the records of replicas that began to stop, until they start again
}

// How much a Log keeps.
const (
	maxJobEvents = 5000
	maxChanges   = 1000
	maxLeft      = 64 // replicas that have left
)

// NewLog returns an empty Log, which Run fills.
func NewLog(s *store.Store, m *store.Mirror) *Log {
	return &Log{store: s, mirror: m, left: map[string]*job.Replica{}}
}

// Run keeps the log up to date until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	tail, _ := l.mirror.Tail()
	defer l.mirror.Unfeed(tail)
	for ctx.Err() == nil {
		for _, c := range tail.Take() {
			switch v := c.Value.(type) {
			case *job.Event:
				l.add(v)
			case *job.Replica:
				l.see(v)
			case *job.Audit:
				l.change(v)
			}
		}
		if !l.Read() {
			if l.load(ctx) != nil {
				loop.Pause(ctx, every)
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-tail.Ready():
		}
	}
	return nil
}

// load reads the events that were written before Run began.
func (l *Log) load(ctx context.Context) error {
	events, err := l.store.Events(ctx, job.ClusterEvents, timeline.MaxEvents)
	if err != nil {
		return err
	}
	recent, err := l.store.RecentEvents(ctx, maxJobEvents)
	if err != nil {
		return err
	}
	changes, err := l.store.Audits(ctx, "", maxJobEvents) // most may be those of runs
	if err != nil {
		return err
	}
	for i := range changes {
		l.change(&changes[i])
	}
	for i := range events {
		l.add(&events[i])
	}
	for _, e := range recent {
		l.add(e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = true
	return nil
}

// see takes over the record of a replica. The last one before an end in good order exists for milliseconds, so it is easily missed.
func (l *Log) see(r *job.Replica) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Leaving.IsZero() {
		delete(l.left, r.Name)
		return
	}
	if l.left[r.Name] = r; len(l.left) > maxLeft {
		first := slices.MinFunc(slices.Collect(maps.Values(l.left)), func(a, b *job.Replica) int { return a.Leaving.Compare(b.Leaving) })
		delete(l.left, first.Name)
	}
}

// Left returns the last records of the replicas that stop, or have stopped, in good order. Callers must not change them.
func (l *Log) Left() []*job.Replica {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.left))
}

// add takes over one event, or its later version.
func (l *Log) add(e *job.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Job == job.ClusterEvents {
		l.cluster = l.cluster.with(e, timeline.MaxEvents)
	} else {
		l.jobs = l.jobs.with(e, maxJobEvents)
	}
}

// change takes over the audit of one change.
func (l *Log) change(a *job.Audit) {
	if a.OfRun() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i, known := slices.BinarySearchFunc(l.changes, a, func(a, b *job.Audit) int { return strings.Compare(a.ID, b.ID) })
	if !known {
		l.changes = slices.Insert(l.changes, i, a)
		l.changes = slices.Delete(l.changes, 0, max(0, len(l.changes)-maxChanges))
	}
}

// Changes returns the latest changes by clients, oldest first. Callers must not change them.
func (l *Log) Changes() []*job.Audit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.changes)
}

// list holds events, oldest first. Nobody changes an event in it.
type list []*job.Event

// with returns the list with one more event, or with a later version of one that it has. It keeps the latest most.
func (l list) with(e *job.Event, most int) list {
	i, known := slices.BinarySearchFunc(l, e, func(a, b *job.Event) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Job, b.Job))
	})
	switch {
	case !known:
		l = slices.Insert(l, i, e)
	case l[i].Rev < e.Rev:
		l[i] = e
	}
	return slices.Delete(l, 0, max(0, len(l)-most))
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
	return slices.Clone(l.cluster)
}

// JobEvents returns the latest events of jobs, oldest first. Callers must not change them.
func (l *Log) JobEvents() []*job.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.jobs)
}
