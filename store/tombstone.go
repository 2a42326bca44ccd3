package store

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
)

// tombstone stays for a while where a record was removed, written in the transaction of the removal. By its op, who removed it
// knows that it was this removal and no other; and since whoever creates such a record compares that no tombstone has come
// meanwhile, a sending that comes late cannot create again what others have removed.
type tombstone struct {
	Op string `json:"op"`
}

// leave has w, a removal, leave a tombstone at key. It is the last that is done to w.
func (w *write) leave(key string) {
	value, err := encode(tombstone{Op: w.id})
	if err != nil {
		panic(err) // a struct of one string
	}
	w.stone = key
	w.then = append(w.then, putOp(key, value, clientv3.NoLease))
	w.bytes += len(key) + len(value)
	w.probe = append(w.probe, key)
}

// strip takes the tombstone out of w again. A sending with it may have taken place.
func (w *write) strip() {
	w.then = w.then[:len(w.then)-1]
	w.bare, w.open = true, true
}

// above has w, a creation, refused if a tombstone has come to be at key since the call began. It is the last that is done to w.
func (w *write) above(key string) {
	w.stone = key
	w.guards = append(w.guards, notSince(key, 0))
	w.probe = append(w.probe, key)
}

// since says when the call of a creation began, as a revision.
func (w *write) since(rev int64) {
	others := w.guards[:len(w.guards)-1]
	w.guards = append(slices.Clip(others), notSince(w.stone, rev)) // etcd may still be reading those that were sent
}

// SweepTombstones removes the tombstones that were there at revision upTo, and says how many. It is the leader's to do, with ctx
// that of the term, and with a revision from longer ago than any call may take.
func (s *Store) SweepTombstones(ctx context.Context, term election.Term, upTo int64) (removed int, err error) {
	removed, err = s.sweep(ctx, term, KindTombstones, func(kv *mvccpb.KeyValue) bool { return kv.ModRevision <= upTo })
	if err != nil {
		return removed, fmt.Errorf("remove tombstones: %w", err)
	}
	return removed, nil
}
