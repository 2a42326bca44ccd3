package store

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Mirror is a copy of the store in memory, fed by one watch. Replicas answer from it, and planners decide by it. It may lag: see
// Current.
type Mirror struct {
	store *Store

	mu      sync.RWMutex
	records map[Kind]map[string]record     // guarded by mu, by name; terminal runs lack output, payload and spec
	runs    map[string]map[string]*job.Run // guarded by mu: readable runs in records by job and id, without those in delayed
	delayed map[string]*delayed.Runs       // guarded by mu: delayed runs that wait for their time, by job
	bad     map[string]Bad                 // guarded by mu, by key
	rev     int64                          // guarded by mu: the mirror has every change up to it
	heard   time.Time                      // guarded by mu: the mirror has every change that the store had at this instant
	moved   chan struct{}                  // guarded by mu: closed and replaced when rev rises
	feeds   []*Feed                        // guarded by mu
	tails   int                            // guarded by mu: how many of feeds are tails, which also receive events
	notify  map[string]bool                // guarded by mu: the jobs that have notifiers
	steps   map[string]*job.Job            // guarded by mu: the jobs that have parents, by name
	hooks   map[string][]string            // guarded by mu: the jobs with a hook of a name; more than one if clients made them at once
	tally   tally                          // guarded by mu: counts of the runs in records
	past    past                           // guarded by mu: how large the changes up to rev are
	ended   map[string]ended               // guarded by mu: by job, what its ended runs amount to; absent after a change

	staged   [][]keyState  // owned by Follow: the pages of the list that is being read
	probeNow chan struct{} // holds a token when somebody waits for a revision that the watch has not reached
}

type recordKey struct {
	kind Kind
	name string
}

// Bad is a key that holds an unreadable record: somebody wrote it by hand, or a later version wrote it.
type Bad struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"`
	Error    string `json:"error"`
}

// NewMirror returns an empty mirror of s, which Follow fills.
func NewMirror(s *Store) *Mirror {
	return &Mirror{
		store:    s,
		records:  make(map[Kind]map[string]record),
		runs:     make(map[string]map[string]*job.Run),
		delayed:  make(map[string]*delayed.Runs),
		bad:      make(map[string]Bad),
		notify:   make(map[string]bool),
		steps:    make(map[string]*job.Job),
		hooks:    make(map[string][]string),
		tally:    newTally(),
		ended:    make(map[string]ended),
		moved:    make(chan struct{}),
		probeNow: make(chan struct{}, 1),
	}
}

// Follow keeps the mirror current until ctx ends, and returns the cause of that.
func (m *Mirror) Follow(ctx context.Context) error {
	return m.store.follow(ctx, m.store.keys.All(), follower{
		begin: m.begin, page: m.page, reset: m.reset,
		consumer: consumer{apply: m.apply, current: m.current, probeNow: m.probeNow},
	})
}

func (m *Mirror) apply(rev int64, events []*clientv3.Event) {
	list := make([]keyState, len(events))
	for i, ev := range events {
		if ev.Type == clientv3.EventTypeDelete {
			list[i] = m.deletion(ev.Kv)
		} else {
			list[i] = m.decode(ev.Kv)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.past.add(rev, events)
	changes := make([]job.Change, 0, len(list))
	for i := range list {
		changes = m.setLocked(changes, &list[i])
	}
	m.advanceLocked(rev, changes)
}

// setLocked takes over the state of a key, and appends the change to changes if feeds receive it.
func (m *Mirror) setLocked(changes []job.Change, k *keyState) []job.Change {
	switch {
	case k.deleted:
		delete(m.bad, k.key)
		if !k.mirrored {
			return changes
		}
		return m.deleteLocked(changes, recordKey{k.kind, k.name}, k.record.rev)
	case !k.mirrored:
		m.quarantineLocked(k)
		if familyOf(k.kind).followed && k.bad() == nil && m.tails > 0 {
			return append(changes, k.record.change(k.kind, k.name))
		}
		return changes
	}
	old, known := m.records[k.kind][k.name]
	if known && old.rev == k.record.rev {
		return changes
	}
	if bad, known := m.bad[k.key]; known && bad.Revision == k.record.rev {
		return changes
	}
	m.quarantineLocked(k)
	if bad := k.bad(); bad != nil && k.kind == KindGate {
		k.record.value = unreadableGate{bad, m.lastGateLocked()}
	}
	if k.kind == "" {
		return changes
	}
	if m.records[k.kind] == nil {
		m.records[k.kind] = make(map[string]record)
	}
	m.records[k.kind][k.name] = k.record
	if k.kind == KindRuns {
		m.tally.change(old.value, k.record.value)
		m.indexRunLocked(k.name, old.value, k.record.value)
	}
	if k.kind == KindJobs {
		m.indexHooksLocked(k.name, old.value, k.record.value)
		m.indexStepLocked(k.name, k.record.value)
	}
	if j, ok := k.record.value.(*job.Job); ok {
		m.indexNotifyLocked(k.name, j.Spec.Reports())
	}
	return append(changes, k.record.change(k.kind, k.name))
}

// quarantineLocked records whether the record at a key is unreadable.
func (m *Mirror) quarantineLocked(k *keyState) {
	bad := k.bad()
	if bad == nil {
		if len(m.bad) > 0 {
			delete(m.bad, k.key)
		}
		return
	}
	if m.bad[k.key].Revision == k.record.rev {
		return
	}
	m.bad[k.key] = Bad{Key: k.key, Revision: k.record.rev, Error: bad.Error()}
	m.store.log.Error("record is unreadable and quarantined", "key", k.key, "err", bad)
}

// indexNotifyLocked records whether a job has notifiers or pings.
func (m *Mirror) indexNotifyLocked(name string, notify bool) {
	switch {
	case notify:
		m.notify[name] = true
	case m.notify[name]:
		delete(m.notify, name)
	}
}

// indexStepLocked replaces a job in the index of steps. A value that is no readable job is no step.
func (m *Mirror) indexStepLocked(name string, next any) {
	if j, ok := next.(*job.Job); ok && j.Spec.Step() {
		m.steps[name] = j
	} else {
		delete(m.steps, name)
	}
}

// indexHooksLocked replaces the hooks of a job in the index. A value that is no readable job has no hooks.
func (m *Mirror) indexHooksLocked(name string, old, next any) {
	if j, ok := old.(*job.Job); ok {
		for hook := range j.Spec.Hooks {
			m.hooks[hook] = slices.DeleteFunc(m.hooks[hook], func(other string) bool { return other == name })
			if len(m.hooks[hook]) == 0 {
				delete(m.hooks, hook)
			}
		}
	}
	if j, ok := next.(*job.Job); ok {
		for hook := range j.Spec.Hooks {
			m.hooks[hook] = append(m.hooks[hook], name)
		}
	}
}

func (m *Mirror) deleteLocked(changes []job.Change, k recordKey, rev int64) []job.Change {
	old, known := m.records[k.kind][k.name]
	if !known {
		return changes
	}
	delete(m.records[k.kind], k.name)
	if k.kind == KindJobs {
		m.indexNotifyLocked(k.name, false)
		m.indexHooksLocked(k.name, old.value, nil)
		m.indexStepLocked(k.name, nil)
	}
	if k.kind == KindRuns {
		m.tally.change(old.value, nil)
		m.indexRunLocked(k.name, old.value, nil)
	}
	return append(changes, job.Change{Kind: k.kind, Name: k.name, Rev: rev})
}

func (m *Mirror) advanceLocked(rev int64, changes []job.Change) {
	for _, f := range m.feeds {
		f.add(changes)
	}
	if rev > m.rev {
		m.rev = rev
		close(m.moved)
		m.moved = make(chan struct{})
	}
}

func (m *Mirror) current(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = job.Later(m.heard, at)
}

// Current returns rev, the revision up to which the mirror has every change; zero before the first list. At the instant heard,
// the mirror had all changes that etcd's majority had. In normal operation heard is at most a few seconds ago.
func (m *Mirror) Current() (rev int64, heard time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rev, m.heard
}

// probeAgain is how often WaitFor asks for a probe.
const probeAgain = 200 * time.Millisecond

// WaitFor waits until the mirror has every change up to rev. If ctx ends first, it returns the cause.
func (m *Mirror) WaitFor(ctx context.Context, rev int64) error {
	again := time.NewTicker(probeAgain)
	defer again.Stop()
	for {
		m.mu.RLock()
		have, moved := m.rev, m.moved
		m.mu.RUnlock()
		if have >= rev && have > 0 {
			return nil
		}
		select { // if rev belongs to a key outside the prefix, the watch does not report it, but a probe does
		case m.probeNow <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func byRev(a, b job.Change) int { return cmp.Compare(a.Rev, b.Rev) }
