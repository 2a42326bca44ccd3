package store

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
)

// tombstone marks for a while that a record was removed. The transaction of the removal writes it, with the id of the write, so
// that the writer can recognise its own removal. A creation is refused if a tombstone was written after it began. So a late
// sending cannot create a record again that another client has removed.
type tombstone struct {
	Op string `json:"op"`
}

// leaveTombstone makes w, a removal, leave a tombstone at key. Nothing may be added to w afterwards.
func (w *write) leaveTombstone(key string) {
	value, err := encode(tombstone{Op: w.id})
	if err != nil {
		panic(err) // a struct of one string
	}
	w.tombstone = key
	w.then = append(w.then, putOp(key, value, clientv3.NoLease))
	w.bytes += len(key) + len(value)
}

// stripPuts removes the tombstone and the audit record from w, a removal, and reports whether it had one. etcd may have applied an
// earlier sending of w, with both.
func (w *write) stripPuts() bool {
	if w.stripped || w.tombstone == "" && w.audit == nil {
		return false
	}
	if w.tombstone != "" {
		w.then = w.then[:len(w.then)-1]
	}
	w.audit, w.stripped, w.open = nil, true, true
	return true
}

// refuseTombstone makes etcd refuse w, a creation, if a tombstone was put at key after a revision, which
// setTombstoneRev sets. Nothing may be added to w afterwards.
func (w *write) refuseTombstone(key string) {
	w.tombstone = key
	w.guards = append(w.guards, notSince(key, 0))
}

// setTombstoneRev sets the revision for refuseTombstone.
func (w *write) setTombstoneRev(rev int64) {
	others := w.guards[:len(w.guards)-1]
	w.guards = append(slices.Clip(others), notSince(w.tombstone, rev)) // a copy: etcd may still be reading the guards that were sent
}

// SweepTombstones removes the tombstones that existed at revision upTo, and returns how many. Only the leader calls it, with the
// context of its term. upTo must be older than any write that is still under way.
func (s *Store) SweepTombstones(ctx context.Context, term election.Term, upTo int64) (removed int, err error) {
	removed, err = s.sweep(ctx, term, KindTombstones, func(kv *mvccpb.KeyValue) bool { return kv.ModRevision <= upTo })
	if err != nil {
		return removed, fmt.Errorf("remove tombstones: %w", err)
	}
	return removed, nil
}
