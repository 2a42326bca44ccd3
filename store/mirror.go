package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Mirror is a copy of the store in memory, fed by one watch: what a replica answers from, and what its planner sees.
// It may lag, and says by how much it may: see Current.
type Mirror struct {
	store *Store

	mu      sync.RWMutex
	records map[Kind]map[string]job.Change // guarded by mu, by name; terminal runs without what is bulky
	runs    map[string]map[string]bool     // guarded by mu: ids of runs by job
	bad     map[string]Bad                 // guarded by mu, by key
	rev     int64                          // guarded by mu: everything up to it is in
	heard   time.Time                      // guarded by mu: everything that there was at this instant is in
	moved   chan struct{}                  // guarded by mu: closed and replaced when rev moves
	feeds   []*Feed                        // guarded by mu

	ask chan struct{} // holds a token when somebody waits for what etcd may have and the watch has not told
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
		records: make(map[Kind]map[string]job.Change),
		runs:    make(map[string]map[string]bool),
		bad:     make(map[string]Bad),
		moved:   make(chan struct{}),
		ask:     make(chan struct{}, 1),
	}
}

// Follow keeps the mirror current until ctx ends, and returns the cause of that.
func (m *Mirror) Follow(ctx context.Context) error {
	return m.store.follow(ctx, m.store.keys.All(), follower{reset: m.reset, apply: m.apply, current: m.current, ask: m.ask})
}

// mirrored says which keys are copied. Orders are their worker's affair, events are read when asked for, candidates
// belong to the election, and the era is asked of etcd itself: those are only glanced at.
func mirrored(kind Kind) bool {
	switch kind {
	case KindElection, KindTakeover, KindQueues, KindEvents, KindEra:
		return false
	}
	return true
}

func (m *Mirror) reset(rev int64, kvs []*mvccpb.KeyValue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var changes []job.Change
	present := make(map[recordKey]bool, len(kvs))
	keys := make(map[string]bool, len(kvs))
	for _, kv := range kvs {
		kind, name, ok := m.store.keys.Parse(string(kv.Key))
		keys[string(kv.Key)] = true
		if ok && !mirrored(kind) {
			m.glanceLocked(kind, name, kv)
			continue
		}
		present[recordKey{kind, name}] = true
		if old, known := m.records[kind][name]; known && old.Rev == kv.ModRevision {
			continue
		}
		changes = m.putLocked(changes, kv)
	}
	for key := range m.bad {
		if !keys[key] {
			delete(m.bad, key)
		}
	}
	for kind, records := range m.records {
		for name := range records {
			if k := (recordKey{kind, name}); !present[k] {
				changes = m.deleteLocked(changes, k, rev)
			}
		}
	}
	m.advanceLocked(rev, changes)
}

func (m *Mirror) apply(rev int64, events []*clientv3.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var changes []job.Change
	for _, ev := range events {
		kind, name, ok := m.store.keys.Parse(string(ev.Kv.Key))
		switch {
		case ev.Type == clientv3.EventTypeDelete && ok && !mirrored(kind):
			delete(m.bad, string(ev.Kv.Key))
		case ok && !mirrored(kind):
			m.glanceLocked(kind, name, ev.Kv)
		case ev.Type == clientv3.EventTypeDelete:
			delete(m.bad, string(ev.Kv.Key))
			changes = m.deleteLocked(changes, recordKey{kind, name}, ev.Kv.ModRevision)
		default:
			changes = m.putLocked(changes, ev.Kv)
		}
	}
	m.advanceLocked(rev, changes)
}

func (m *Mirror) putLocked(changes []job.Change, kv *mvccpb.KeyValue) []job.Change {
	kind, name, _ := m.store.keys.Parse(string(kv.Key))
	c := decode(kind, name, kv.Value, kv.ModRevision)
	if old, known := m.bad[string(kv.Key)]; known && old.Revision == c.Rev {
		return changes
	}
	m.judgeLocked(kv, c.Bad)
	if kind == "" {
		return changes
	}
	if c.Run != nil && c.Run.State.Terminal() {
		c.Run.Output, c.Run.Payload, c.Run.Spec = "", nil, nil
	}
	if m.records[kind] == nil {
		m.records[kind] = make(map[string]job.Change)
	}
	m.records[kind][name] = c
	if kind == KindRuns {
		if j, id, err := job.ParseRunName(name); err == nil {
			if m.runs[j] == nil {
				m.runs[j] = make(map[string]bool)
			}
			m.runs[j][id] = true
		}
	}
	return append(changes, c)
}

// judgeLocked notes whether the record at a key can be read.
func (m *Mirror) judgeLocked(kv *mvccpb.KeyValue, bad error) {
	key := string(kv.Key)
	if bad == nil {
		delete(m.bad, key)
		return
	}
	if m.bad[key].Revision == kv.ModRevision {
		return
	}
	m.bad[key] = Bad{Key: key, Revision: kv.ModRevision, Error: bad.Error()}
	m.store.log.Error("record is unreadable and set aside", "key", key, "err", bad)
}

// glanceLocked looks at a record that is not copied, only so that one put there by hand is reported.
func (m *Mirror) glanceLocked(kind Kind, name string, kv *mvccpb.KeyValue) {
	var bad error
	switch kind {
	case KindElection:
		if kv.Lease == 0 {
			bad = errors.New("a candidate without a lease, which only somebody's hand can have put there")
		}
	case KindEvents:
		bad = decode(kind, name, kv.Value, kv.ModRevision).Bad
	case KindEra:
		_, bad = decodeEra(kv.Value)
	case KindQueues:
		if !orderly(kv.Value) {
			bad = errors.New("not an order")
		}
	}
	m.judgeLocked(kv, bad)
}

// orderly says whether a value looks like an order. One that begins as we write them is not looked at any further: its
// worker reads all of it.
func orderly(value []byte) bool {
	if bytes.HasPrefix(value, []byte(`{"id":"`)) && bytes.HasSuffix(value, []byte(`]}`)) {
		return true
	}
	var order struct{ Session string }
	return json.Unmarshal(value, &order) == nil && order.Session != ""
}

func (m *Mirror) deleteLocked(changes []job.Change, k recordKey, rev int64) []job.Change {
	if _, known := m.records[k.kind][k.name]; !known {
		return changes
	}
	delete(m.records[k.kind], k.name)
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
	slices.SortStableFunc(changes, byRev) // a list is in the order of keys
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
	m.heard = later(m.heard, at)
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
