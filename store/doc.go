// Package store keeps rota's records in etcd. Besides it package election alone writes there: its candidates and the mark of a
// takeover, and it removes the term and the presence of a process that is proven dead.
//
// # Guarantees
//
// Every change is one transaction that compares (a) what entitles the writer (the leader's Term, or the fencing token
// of an attempt) and (b) the revision, or the absence, of each record that it replaces. (a) alone would let a leader's
// own timed-out write land on top of a newer one.
//
// An error from etcd that does not say "refused" leaves open whether the write took place, now or later, and reading
// does not settle it. The same guarded transaction is sent again until the answer is definite; each record carries the
// id of the write that made it (its op), so a write that finds its own record, byte for byte, knows that it had succeeded
// before. If somebody has changed the record since, it is reported as a conflict with the record as it stands: what a leader or a
// worker does next goes by that. Who defines, pauses or removes something is told whether it took place all the same: etcd's
// past shows what took the place of the record that was to be replaced, and a tombstone whose removal it was.
//
// Changes that are ready together share a transaction (group commit), each nested with its own guards, so that one that
// is stale fails alone. Two decisions about the same job never share one, since both would have the same fencing token.
//
// # What is not guaranteed
//
// A worker may get an order twice, or one whose runs were never armed; such a run cannot be claimed.
//
// A Mirror lags behind etcd. Decisions made from it are safe because the write compares revisions, not because it is
// current. A write whose caller gave up after it was sent may still take place, but is not sent again.
// Where etcd has forgotten its past meanwhile, the outcome of a definition, a pause or a removal is unknown; likewise that of
// a removal while etcd has no space left for a tombstone.
package store
