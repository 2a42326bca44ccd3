package store

import (
	"cmp"
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Mirror is a copy of the store in memory, fed by one watch: what a replica answers from, and what its planner sees.
// It may lag, and says by how much it may: see Current.
type Mirror struct {
	store *Store

	mu      sync.RWMutex
	records map[Kind]map[string]record // guarded by mu, by name; terminal runs without what is bulky
	runs    map[string]map[string]bool // guarded by mu: ids of runs by job
	bad     map[string]Bad             // guarded by mu, by key
	rev     int64                      // guarded by mu: everything up to it is in
	heard   time.Time                  // guarded by mu: everything that there was at this instant is in
	moved   chan struct{}              // guarded by mu: closed and replaced when rev moves
	feeds   []*Feed                    // guarded by mu
	tails   int                        // guarded by mu: how many of them are tails, which are told of events, too
	notify  map[string]bool            // guarded by mu: the jobs of which somebody is told

	staged [][]reading   // owned by Follow: the pages of the list that is being read
	ask    chan struct{} // holds a token when somebody waits for what etcd may have and the watch has not told
}

type recordKey struct {
	kind Kind
	name string
}

// Bad is a key that holds what nobody can read, as somebody put it there by hand or a later version did.
type Bad struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"`
	Error    string `json:"error"`
}

// NewMirror returns an empty mirror of s, which Follow fills.
func NewMirror(s *Store) *Mirror {
	return &Mirror{
		store:   s,
		records: make(map[Kind]map[string]record),
		runs:    make(map[string]map[string]bool),
		bad:     make(map[string]Bad),
		notify:  make(map[string]bool),
		moved:   make(chan struct{}),
		ask:     make(chan struct{}, 1),
	}
}

// Follow keeps the mirror current until ctx ends, and returns the cause of that.
func (m *Mirror) Follow(ctx context.Context) error {
	return m.store.follow(ctx, m.store.keys.All(), follower{
		begin: m.begin, page: m.page, reset: m.reset, apply: m.apply, current: m.current, ask: m.ask,
	})
}

func (m *Mirror) apply(rev int64, events []*clientv3.Event) {
	list := make([]reading, len(events))
	for i, ev := range events {
		if ev.Type == clientv3.EventTypeDelete {
			list[i] = m.absence(ev.Kv)
		} else {
			list[i] = m.read(ev.Kv)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	changes := make([]job.Change, 0, len(list))
	for i := range list {
		changes = m.takeLocked(changes, &list[i])
	}
	m.advanceLocked(rev, changes)
}

// takeLocked takes over what is at a key.
func (m *Mirror) takeLocked(changes []job.Change, r *reading) []job.Change {
	switch {
	case r.gone:
		delete(m.bad, r.key)
		if !r.mirrored {
			return changes
		}
		return m.deleteLocked(changes, recordKey{r.kind, r.name}, r.record.rev)
	case !r.mirrored:
		m.judgeLocked(r)
		if _, event := r.record.value.(*job.Event); event && m.tails > 0 {
			return append(changes, r.record.change(r.kind, r.name))
		}
		return changes
	}
	old, known := m.records[r.kind][r.name]
	if known && old.rev == r.record.rev {
		return changes
	}
	if bad, known := m.bad[r.key]; known && bad.Revision == r.record.rev {
		return changes
	}
	m.judgeLocked(r)
	if bad := r.bad(); bad != nil && r.kind == KindGate {
		r.record.value = lostGate{bad, m.gateLocked()}
	}
	if r.kind == "" {
		return changes
	}
	if m.records[r.kind] == nil {
		m.records[r.kind] = make(map[string]record)
	}
	m.records[r.kind][r.name] = r.record
	if j, ok := r.record.value.(*job.Job); ok {
		m.noteLocked(r.name, len(j.Spec.Notify) > 0)
	}
	if r.kind == KindRuns && !known {
		if j, id, err := job.ParseRunName(r.name); err == nil {
			if m.runs[j] == nil {
				m.runs[j] = make(map[string]bool)
			}
			m.runs[j][id] = true
		}
	}
	return append(changes, r.record.change(r.kind, r.name))
}

// judgeLocked notes whether what is at a key can be read.
func (m *Mirror) judgeLocked(r *reading) {
	bad := r.bad()
	if bad == nil {
		if len(m.bad) > 0 {
			delete(m.bad, r.key)
		}
		return
	}
	if m.bad[r.key].Revision == r.record.rev {
		return
	}
	m.bad[r.key] = Bad{Key: r.key, Revision: r.record.rev, Error: bad.Error()}
	m.store.log.Error("record is unreadable and set aside", "key", r.key, "err", bad)
}

func (m *Mirror) deleteLocked(changes []job.Change, k recordKey, rev int64) []job.Change {
	if _, known := m.records[k.kind][k.name]; !known {
		return changes
	}
	delete(m.records[k.kind], k.name)
	if k.kind == KindJobs {
		m.noteLocked(k.name, false)
	}
	if k.kind == KindRuns {
		if j, id, err := job.ParseRunName(k.name); err == nil {
			if delete(m.runs[j], id); len(m.runs[j]) == 0 {
				delete(m.runs, j)
			}
		}
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

// Current returns the revision up to which everything is in, zero before the first list, and an instant at which the
// mirror lacked nothing that etcd's majority had: while all is well, not longer ago than a few seconds.
func (m *Mirror) Current() (rev int64, heard time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rev, m.heard
}

// askAgain is how often WaitFor has etcd asked.
const askAgain = 200 * time.Millisecond

// WaitFor returns when everything up to rev is in, or with the cause of ctx.
func (m *Mirror) WaitFor(ctx context.Context, rev int64) error {
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		m.mu.RLock()
		have, moved := m.rev, m.moved
		m.mu.RUnlock()
		if have >= rev && have > 0 {
			return nil
		}
		select { // the revision may be that of a key that is not ours: then only a probe tells
		case m.ask <- struct{}{}:
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
