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

func (c *counters) ordered(at time.Time) { c.orders.Store(&at) }

// reached is the highest revision that one cluster of etcd has answered with: the first that answered, or the one that it was
// begun with.
type reached struct {
	mu      sync.Mutex
	cluster uint64 // guarded by mu; 0: none has answered
	rev     int64  // guarded by mu
}

func (r *reached) note(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cluster == 0 {
		r.cluster = cluster
	}
	if cluster == r.cluster {
		r.rev = max(r.rev, rev)
	}
}

func (r *reached) begin(cluster uint64, rev int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster, r.rev = cluster, rev
}

func (r *reached) last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rev
}

// Counts is what a store has done since its process began.
type Counts struct {
	Transactions int64 // requests sent to etcd, repeats included
	Writes       int64 // changes that took effect
	Puts         int64 // keys that they put or deleted, those of orders included
	Bytes        int64 // of these keys and their values
	Conflicts    int64 // changes refused since a record had changed
	Fenced       int64 // changes refused since the term was over
	Relists      int64 // times a watch had to be built anew
}

// Counts returns the present counts.
func (s *Store) Counts() Counts {
	c := &s.count
	return Counts{
		Transactions: c.transactions.Load(), Writes: c.writes.Load(), Puts: c.puts.Load(), Bytes: c.bytes.Load(),
		Conflicts: c.conflicts.Load(), Fenced: c.fenced.Load(), Relists: c.relists.Load(),
	}
}
