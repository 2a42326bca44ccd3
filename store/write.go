package store

import (
	"bytes"
	"slices"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// write is one guarded, atomic change. A group commit puts several writes into one transaction.
type write struct {
	id      string          // op, carried by the records that it puts
	lane    string          // its job, or the key that it changes; "" is none. Writes of one lane never share a transaction
	limits  []string        // the limits that it gives to a run. Two writes that give the same limit never share a transaction
	guards  []*pb.Compare   // must all hold, and so must gate
	gate    gateGuard       // the zero value: w does not depend on the gate
	then    []*pb.RequestOp // the operations
	probe   []string        // keys to read when a guard failed. The first identifies w, unless w deletes all of them
	value   []byte          // the new value of probe[0]; nil: the write has none
	bytes   int             // of keys and values in then
	order   *handout        // for a worker, in the same transaction; nil: none
	urgent  bool            // it goes before others, because a run begins with it
	awaited bool            // a client waits for it
	patient bool            // no run is late, and nobody waits, if it is written a little later
	answer  chan *written   // has room for the result

	done  func(*write, *written) // called once with w, from a goroutine of the group; nil: answer gets the result
	index int                    // of w in the list of its caller, for done

	audit *pb.RequestOp // puts the audit record of the change; nil: it has none

	tombstone string // key of the tombstone that a removal leaves, and a creation must not find; "" is none
	stripped  bool   // a removal without its tombstone and audit record, because etcd has no space left

	open      bool        // a sending was not answered, and may be applied at any time
	abandoned atomic.Bool // its caller gave up: it is not sent again

	// Memory for the usual lengths of the lists above, for the first record that is put, and for the result, so that w needs one
	// allocation.
	room struct {
		guards [4]*pb.Compare
		then   [2]*pb.RequestOp
		probe  [2]string
		guard  guardRoom
		put    putRoom
		txn    txnRoom
		out    written
	}
}

// newWrite returns an empty write.
func newWrite(id, lane string) *write {
	w := &write{id: id, lane: lane}
	w.guards, w.then, w.probe = w.room.guards[:0], w.room.then[:0], w.room.probe[:0]
	return w
}

// written is the result of a write.
type written struct {
	rev     int64              // at which it was written
	err     error              // nil, job.ErrConflict, another definite refusal, or why the outcome is unknown
	found   map[string]*mvccKV // on job.ErrConflict: the records at probe, by key
	foundAt int64              // the revision at which found was read
}

// mvccKV is a key's value and revision.
type mvccKV struct {
	value []byte
	rev   int64
}

// put adds the guarded replacement of one record to w. The first record that is put identifies w.
func (w *write) put(key string, rev int64, record any) error {
	value, err := encode(record)
	if err != nil {
		return err
	}
	w.putValue(key, rev, value)
	return nil
}

// putRun is put for a run. It does not make the run escape to the heap.
func (w *write) putRun(key string, rev int64, r *job.Run) error {
	value, ok := r.AppendJSON(make([]byte, 0, usualSize))
	if !ok {
		slow := *r
		return w.put(key, rev, &slow)
	}
	if err := checkLength(value); err != nil {
		return err
	}
	w.putValue(key, rev, value)
	return nil
}

// putValue is put for a record that is encoded already.
func (w *write) putValue(key string, rev int64, value []byte) {
	k, guard := []byte(key), &w.room.guard
	if w.value != nil {
		guard = new(guardRoom)
	}
	w.guards = append(w.guards, guard.unchanged(k, rev))
	w.putKey(key, k, value, clientv3.NoLease)
}

// putAnyway is put without a guard, for records that others never change.
func (w *write) putAnyway(key string, value []byte, lease clientv3.LeaseID) {
	w.putKey(key, []byte(key), value, lease)
}

func (w *write) putKey(key string, k, value []byte, lease clientv3.LeaseID) {
	w.bytes += len(key) + len(value)
	if w.value == nil {
		w.then = append(w.then, w.room.put.op(k, value, lease))
		w.value, w.probe = value, slices.Insert(w.probe, 0, key)
		return
	}
	w.then = append(w.then, putKeyOp(k, value, lease))
	w.probe = append(w.probe, key)
}

// drop adds the guarded removal of one record.
func (w *write) drop(key string, rev int64) {
	k := []byte(key)
	w.guards = append(w.guards, unchangedKey(k, rev))
	w.dropKey(k)
	w.probe = append(w.probe, key)
}

// dropAnyway is drop without a guard. The record need not exist.
func (w *write) dropAnyway(key string) { w.dropKey([]byte(key)) }

func (w *write) dropKey(k []byte) {
	w.then = append(w.then, deleteOp(k))
	w.bytes += len(k)
}

// gateGuard is the guard that the record at key, which is that of the gate, is at revision rev. Many writes of one request have
// this guard, and the request then makes it once: see batch.sharedGate.
type gateGuard struct {
	key string // "" is none
	rev int64
}

func (g gateGuard) compare() *pb.Compare { return unchanged(g.key, g.rev) }

// nested returns w as an operation of a larger transaction. If gated is true, the transaction makes the guard of the gate.
func (w *write) nested(gated bool) *pb.RequestOp {
	guards, room := w.guards, &w.room.txn
	if w.gate.key != "" && !gated {
		guards = append(slices.Clip(guards), w.gate.compare())
	}
	if room.used() { // an earlier sending of w may still be read
		room = new(txnRoom)
	}
	return room.op(guards, w.ops())
}

// ops returns all operations of w.
func (w *write) ops() []*pb.RequestOp {
	if w.audit == nil {
		return w.then
	}
	return append(slices.Clip(w.then), w.audit)
}

// conflict returns the result of w after one of its guards failed. answers holds what was at the keys of probe at rev.
func (w *write) conflict(answers []*pb.ResponseOp, rev int64) *written {
	out := &written{err: job.ErrConflict, foundAt: rev, found: make(map[string]*mvccKV, len(w.probe))}
	for i, r := range answers {
		if kvs := r.GetResponseRange().GetKvs(); len(kvs) == 1 {
			out.found[w.probe[i]] = &mvccKV{value: kvs[0].Value, rev: kvs[0].ModRevision}
		}
	}
	return w.recognise(out, rev)
}

// recognise turns a conflict, found at rev, into success if the records show that an earlier, unanswered sending of w
// was applied. For a put, the record equals the value that w puts, which has an op that no other write has. For a
// removal without a tombstone, all keys that w removes are gone; another client may have removed them. If another client has
// changed the record since, the result stays a conflict: see exactly.
func (w *write) recognise(out *written, rev int64) *written {
	switch {
	case len(w.probe) == 0:
	case w.value == nil:
		if len(out.found) == 0 && w.tombstone == "" {
			return &written{rev: rev}
		}
	default:
		if kv := out.found[w.probe[0]]; kv != nil && bytes.Equal(kv.value, w.value) {
			return &written{rev: kv.rev}
		}
	}
	return out
}

func (w *write) isAbandoned() bool { return w.abandoned.Load() }

// deletesOnly reports whether etcd accepts w when it is out of space.
func (w *write) deletesOnly() bool { return w.value == nil }
