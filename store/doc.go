// Package store keeps rota's records in etcd.
//
// Only package election also writes there: its candidates, the mark of a takeover, and the removal of the term and the
// presence of a process that is proven dead.
//
// # Guarantees
//
// Every change is one transaction with two comparisons. The first proves the right of the writer: it compares the
// leader's term, or the fencing token of an attempt. The second compares the revision, or the absence, of each record
// that the change replaces. Without it, a leader's own late write could overwrite a newer one.
//
// If etcd returns an error that is not a refusal, the write may take place now or later, and a read does not settle
// that. So the store sends the same guarded transaction again until the answer is definite. Each record carries the id
// of the write that made it (its op). A write that finds its own record, byte for byte, has succeeded before.
//
// If another client has changed the record since, the store reports a conflict with the present record, and leaders and
// workers continue from that. For a definition, a pause or a removal, the caller must know whether the write took
// place. Then the store reads etcd's earlier revisions: they show what replaced the record, and a tombstone shows which
// write removed it.
//
// Changes that are ready together share a transaction (group commit). Each is nested with its own guards, so that a
// stale one fails alone. Two decisions about the same job never share a transaction, because they would have the same
// fencing token.
//
// # Limits of the guarantees
//
// A worker may receive an order twice, or an order whose runs were never armed. Such a run cannot be claimed.
//
// A Mirror lags behind etcd. Decisions made from it are safe because the write compares revisions. If a caller gives up
// after its write was sent, the write may still take place, but the store does not send it again.
//
// The outcome of a definition, a pause or a removal is unknown if etcd has compacted the revisions that would show it.
// The outcome of a removal is also unknown if etcd has no space left for the tombstone.
package store
