package store

import (
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
