package store

import (
	"sync"
	"sync/atomic"
	"time"
)

type counters struct {
	transactions, writes, puts, bytes, conflicts, fenced, relists atomic.Int64

	reached reached
	orders  atomic.Pointer[time.Time]
}

// ordersCurrent records that Orders had delivered everything at an instant.
func (c *counters) ordersCurrent(at time.Time) { c.orders.Store(&at) }

// reached is the highest revision in the answers of one etcd cluster: the first one that answered, or the one given to reset.
type reached struct {
	mu      sync.Mutex
	cluster uint64 // guarded by mu; 0: none has answered
	rev     int64  // guarded by mu
}

// raise adds the revision of an answer from a cluster.
func (r *reached) raise(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cluster == 0 {
		r.cluster = cluster
	}
	if cluster == r.cluster {
		r.rev = max(r.rev, rev)
	}
}

func (r *reached) reset(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster, r.rev = cluster, rev
}

func (r *reached) get() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rev
}

// Counts holds the numbers of operations of a store since its process started.
type Counts struct {
	Transactions int64 // requests sent to etcd, repeats included
	Writes       int64 // changes that took effect
	Puts         int64 // keys that these changes put or deleted, orders included
	Bytes        int64 // size of these keys and their values
	Conflicts    int64 // changes refused because a record had changed
	Fenced       int64 // changes refused because the term had ended
	Relists      int64 // times that a watch was replaced
}

// Counts returns the present counts.
func (s *Store) Counts() Counts {
	c := &s.count
	return Counts{
		Transactions: c.transactions.Load(), Writes: c.writes.Load(), Puts: c.puts.Load(), Bytes: c.bytes.Load(),
		Conflicts: c.conflicts.Load(), Fenced: c.fenced.Load(), Relists: c.relists.Load(),
	}
}
