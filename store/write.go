package store

import (
	"bytes"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// write is one guarded change, all or nothing: the unit that group commit nests.
type write struct {
	id     string           // op, carried by the records that it puts
	lane   string           // writes of one lane never share a transaction: its job, or the key that it changes; "" is none
	limits []string         // those that it gives to a run: no two such writes of one limit share a transaction
	guards []*pb.Compare    // what must hold
	then   []*pb.RequestOp  // what to do
	probe  []string         // keys to read when a guard failed; w is recognised by the first, or deletes all of them
	value  []byte           // what it puts at probe[0]; nil: it puts nothing
	bytes  int              // of keys and values in then
	order  *handout         // what a worker is told in the same transaction
	urgent bool             // a run begins with it
	stone  string           // key of the tombstone that a removal leaves, and a creation must not find; "" is none
	bare   bool             // a removal that leaves no tombstone any more, since etcd has no space left
	done   func(w *written) // called once, from a goroutine of the group
	open   bool             // a sending was not answered, and may be applied at any time
	gone   atomic.Bool      // its caller gave up: it is not sent again
}

// written is what became of a write.
type written struct {
	rev    int64              // at which it was written
	err    error              // nil, job.ErrConflict, another definite refusal, or why the outcome is unknown
	seen   map[string]*mvccKV // on job.ErrConflict: the records at probe, by key
	looked int64              // and the revision at which they were read
}

// mvccKV is a key's value and revision.
type mvccKV struct {
	value []byte
	rev   int64
}

// put adds the guarded replacement of one record to w. The first record put is the one by which w is recognised.
func (w *write) put(key string, rev int64, record any) error {
	value, err := encode(record)
	if err != nil {
		return err
	}
	w.guards = append(w.guards, unchanged(key, rev))
	w.putAnyway(key, value, clientv3.NoLease)
	return nil
}

// putAnyway is put without a guard of its own, for records that others never change.
func (w *write) putAnyway(key string, value []byte, lease clientv3.LeaseID) {
	w.then = append(w.then, putOp(key, value, lease))
	w.bytes += len(key) + len(value)
	if w.value == nil {
		w.value, w.probe = value, append([]string{key}, w.probe...)
		return
	}
	w.probe = append(w.probe, key)
}

// drop adds the guarded removal of one record.
func (w *write) drop(key string, rev int64) {
	w.guards = append(w.guards, unchanged(key, rev))
	w.dropAnyway(key)
	w.probe = append(w.probe, key)
}

// dropAnyway is drop without a guard, and whether or not there is such a record.
func (w *write) dropAnyway(key string) {
	w.then = append(w.then, deleteOp(key))
	w.bytes += len(key)
}

// nested is w as an operation of a larger transaction.
func (w *write) nested() *pb.RequestOp { return txnOp(w.guards, w.then) }

// found tells w what is at its probe's keys, as etcd answered at rev, after a guard of it had failed.
func (w *write) found(answers []*pb.ResponseOp, rev int64) *written {
	out := &written{err: job.ErrConflict, looked: rev, seen: make(map[string]*mvccKV, len(w.probe))}
	for i, r := range answers {
		if kvs := r.GetResponseRange().GetKvs(); len(kvs) == 1 {
			out.seen[w.probe[i]] = &mvccKV{value: kvs[0].Value, rev: kvs[0].ModRevision}
		}
	}
	return w.recognise(out, rev)
}

// recognise turns a conflict, found at rev, into success where the records show that an earlier, unanswered sending of w
// was applied: the record is byte for byte what w puts there, with an op that no other write has; or all that w removes
// is gone, by whomever, unless that was to leave a tombstone. If somebody has changed the record since, it stays a conflict: see
// exactly.
func (w *write) recognise(out *written, rev int64) *written {
	switch {
	case len(w.probe) == 0:
	case w.value == nil:
		if len(out.seen) == 0 && w.stone == "" {
			return &written{rev: rev}
		}
	default:
		if kv := out.seen[w.probe[0]]; kv != nil && bytes.Equal(kv.value, w.value) {
			return &written{rev: kv.rev}
		}
	}
	return out
}

// isGone says whether its caller gave up.
func (w *write) isGone() bool { return w.gone.Load() }

// deletesOnly says whether etcd takes w when it is out of space.
func (w *write) deletesOnly() bool { return w.value == nil }
