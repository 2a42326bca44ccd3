package store

import (
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Tail returns a feed of what changes after the revision that comes with it, events included. Like that of Feed, its reader
// must not stop reading before Unfeed.
func (m *Mirror) Tail() (*Feed, int64) {
	f := &Feed{mirror: m, tail: true, ready: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feeds = append(m.feeds, f)
	m.tails++
	return f, m.rev
}

// noteLocked notes whether anybody is told about a job.
func (m *Mirror) noteLocked(name string, notify bool) {
	switch {
	case notify:
		m.notify[name] = true
	case m.notify[name]:
		delete(m.notify, name)
	}
}

// Notifying are the jobs of which somebody is told, in no order. It takes no look at the others.
func (m *Mirror) Notifying() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Keys(m.notify))
}

// NotifyState returns what has been told about a job; nil if nothing was.
func (m *Mirror) NotifyState(name string) *job.NotifyState {
	t, _ := look[*job.NotifyState](m, KindNotifyState, name)
	return t
}
