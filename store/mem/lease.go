package mem

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// maxLeaseTTL is the longest lease etcd grants, in seconds.
const maxLeaseTTL = 9_000_000_000

// leases holds all leases of a store and the keys that are attached to them.
type leases struct {
	byID map[int64]*lease
	last int64 // the last id that add chose
}

type lease struct {
	id      int64
	ttl     int64 // seconds
	expiry  time.Time
	keys    map[string]bool
	revoked chan struct{} // closed when the lease is revoked
}

func (l *lease) refresh(now time.Time, extra time.Duration) {
	l.expiry = now.Add(time.Duration(l.ttl)*time.Second + extra)
}

func (l *lease) expired(now time.Time) bool { return !now.Before(l.expiry) }

// add grants a lease with this id, which no other lease has; if id is 0, add
// chooses one. Chosen ids count up from a number as large as etcd's ids, so
// that keys made from them look alike.
func (ls *leases) add(id, ttl int64) *lease {
	for id == 0 {
		ls.last++
		if free := 0x6d656d<<40 + ls.last; ls.byID[free] == nil {
			id = free
		}
	}
	l := &lease{id: id, ttl: ttl, keys: make(map[string]bool), revoked: make(chan struct{})}
	ls.byID[id] = l
	return l
}

func (ls *leases) attach(id int64, key string) {
	if l := ls.byID[id]; l != nil {
		l.keys[key] = true
	}
}

func (ls *leases) detach(id int64, key string) {
	if l := ls.byID[id]; l != nil {
		delete(l.keys, key)
	}
}

// byExpiry lists the leases in the order of their expiry.
func (ls *leases) byExpiry() []*lease {
	return slices.SortedFunc(maps.Values(ls.byID), func(a, b *lease) int {
		return cmp.Or(a.expiry.Compare(b.expiry), cmp.Compare(a.id, b.id))
	})
}

// revoke deletes the lease's keys, in order, and then the lease.
func (w *write) revoke(l *lease) {
	for _, k := range slices.Sorted(maps.Keys(l.keys)) {
		w.delete(span{key: k, one: true})
	}
	delete(w.leases.byID, l.id)
	close(l.revoked)
}
