package store

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// begin, page and reset receive a list from the store. Readers see the list when it is complete.
func (m *Mirror) begin() { m.staged = nil }

func (m *Mirror) page(kvs []*mvccpb.KeyValue) {
	page := make([]keyState, len(kvs))
	parallel(len(kvs), func(i int) { page[i] = m.listed(kvs[i]) })
	m.staged = append(m.staged, page)
}

// listed is decode for a key of a list. A list that replaces a watch mostly has records that the mirror has already. It shares
// them, so that a million of them do not take their memory twice.
func (m *Mirror) listed(kv *mvccpb.KeyValue) keyState {
	k := m.deletion(kv)
	m.mu.RLock()
	known, ok := m.records[k.kind][k.name]
	m.mu.RUnlock()
	switch {
	case ok && known.rev == kv.ModRevision:
		k.deleted, k.record = false, known
		return k
	case ok && known.rev > kv.ModRevision:
		m.store.count.reached.fell(kv.ModRevision)
	}
	return m.decode(kv)
}

// parallel calls f for all numbers below n, on all processors.
func parallel(n int, f func(i int)) {
	const part = 1000
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/part+1) {
		wg.Go(func() {
			for {
				from := int(next.Add(part)) - part
				if from >= n {
					return
				}
				for i := from; i < min(from+part, n); i++ {
					f(i)
				}
			}
		})
	}
	wg.Wait()
}

// longList is from how many records on the memory of the first list is collected at once.
const longList = 100_000

func (m *Mirror) reset(rev int64) {
	before, _ := m.Current()
	if n := m.replace(rev); before == 0 && n > longList {
		runtime.GC() // the next collection would only come when the process has grown by as much again as the list took
	}
}

// replace puts the list in place of all records, and returns its length.
func (m *Mirror) replace(rev int64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := byRevision(m.staged)
	m.staged = nil
	m.past.begin(rev)
	changes := m.removeLocked(nil, list, rev)
	removed := len(changes)
	changes = slices.Grow(changes, len(list))
	m.makeRoomLocked(list)
	for _, r := range list {
		changes = m.setLocked(changes, r)
	}
	m.advanceLocked(rev, append(changes[removed:], changes[:removed]...)) // deletions come last
	return len(list)
}

// byRevision returns the keys on pages, sorted by revision. etcd lists them in the order of their names.
func byRevision(pages [][]keyState) []*keyState {
	n := 0
	for _, page := range pages {
		n += len(page)
	}
	list := make([]*keyState, 0, n)
	for _, page := range pages {
		for i := range page {
			list = append(list, &page[i])
		}
	}
	slices.SortFunc(list, func(a, b *keyState) int {
		return cmp.Or(cmp.Compare(a.record.rev, b.record.rev), strings.Compare(a.key, b.key))
	})
	return list
}

// makeRoomLocked makes the maps for a first list as large as they need to be, so that they do not grow step by step.
func (m *Mirror) makeRoomLocked(list []*keyState) {
	count := make(map[Kind]int)
	for _, r := range list {
		if r.mirrored {
			count[r.kind]++
		}
	}
	for kind, n := range count {
		if kind != "" && m.records[kind] == nil {
			m.records[kind] = make(map[string]record, n)
		}
	}
}

// removeLocked removes the records that are missing from a list, and appends their deletions to changes.
func (m *Mirror) removeLocked(changes []job.Change, list []*keyState, rev int64) []job.Change {
	if len(m.records) == 0 && len(m.bad) == 0 {
		return changes
	}
	present := make(map[recordKey]bool, len(list))
	keys := make(map[string]bool)
	for _, r := range list {
		present[recordKey{r.kind, r.name}] = true
		if r.bad() != nil {
			keys[r.key] = true
		}
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
	return changes
}
