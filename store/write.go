package store

import (
	"bytes"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// write is one guarded change, all or nothing: the unit that group commit nests.
type write struct {
	id     string           // op, carried by the records that it puts
	lane   string           // writes of one lane never share a transaction: its job, or the key that it changes; "" is none
	guards []clientv3.Cmp   // what must hold
	then   []clientv3.Op    // what to do
	probe  []string         // keys to read when a guard fails; w is recognised by the first, or deletes all of them
	value  []byte           // what it puts at probe[0]; nil: it puts nothing
	order  *handout         // what a worker is told in the same transaction
	done   func(w *written) // called once, from a goroutine of the group
	open   bool             // a sending was not answered, and may be applied at any time
}

// written is what became of a write.
type written struct {
	rev  int64              // at which it was written
	err  error              // nil, job.ErrConflict, another definite refusal, or why the outcome is unknown
	seen map[string]*mvccKV // on job.ErrConflict: the records at probe, by key
}

// mvccKV is a key's value and revision.
type mvccKV struct {
	value []byte
	rev   int64
}

// absent and unchanged are the guards of a record that is created and of one that is replaced.
func absent(key string) clientv3.Cmp { return clientv3.Compare(clientv3.CreateRevision(key), "=", 0) }

func unchanged(key string, rev int64) clientv3.Cmp {
	if rev == 0 {
		return absent(key)
	}
	return clientv3.Compare(clientv3.ModRevision(key), "=", rev)
}

// put adds the guarded replacement of one record to w. The first record put is the one by which w is recognised.
func (w *write) put(key string, rev int64, record any) error {
	value, err := encode(record)
	if err != nil {
		return err
	}
	w.guards = append(w.guards, unchanged(key, rev))
	w.putAnyway(key, value)
	return nil
}

// putAnyway is put without a guard of its own, for records that others never change.
func (w *write) putAnyway(key string, value []byte, opts ...clientv3.OpOption) {
	w.then = append(w.then, clientv3.OpPut(key, string(value), opts...))
	if w.value == nil {
		w.value, w.probe = value, append([]string{key}, w.probe...)
		return
	}
	w.probe = append(w.probe, key)
}

// drop adds the guarded removal of one record.
func (w *write) drop(key string, rev int64) {
	w.guards = append(w.guards, unchanged(key, rev))
	w.then = append(w.then, clientv3.OpDelete(key))
	w.probe = append(w.probe, key)
}

// nested is w as an operation of a larger transaction.
func (w *write) nested() clientv3.Op { return clientv3.OpTxn(w.guards, w.then, w.look()) }

func (w *write) look() []clientv3.Op {
	ops := make([]clientv3.Op, len(w.probe))
	for i, key := range w.probe {
		ops[i] = clientv3.OpGet(key)
	}
	return ops
}

// settle reads the answer of w's nested transaction that was part of the request answered at rev.
func (w *write) settle(resp *etcdserverpb.TxnResponse, rev int64) *written {
	if resp.Succeeded {
		return &written{rev: rev}
	}
	return w.recognise(w.found(resp.Responses), rev)
}

// found reads the answers of look.
func (w *write) found(answers []*etcdserverpb.ResponseOp) *written {
	out := &written{err: job.ErrConflict, seen: make(map[string]*mvccKV, len(w.probe))}
	for i, r := range answers {
		if kvs := r.GetResponseRange().GetKvs(); len(kvs) == 1 {
			out.seen[w.probe[i]] = &mvccKV{value: kvs[0].Value, rev: kvs[0].ModRevision}
		}
	}
	return out
}

// recognise turns a conflict, found at rev, into success where the records show that an earlier, unanswered sending of w
// was applied: the record is byte for byte what w puts there, with an op that no other write has; or all that w removes
// is gone. If somebody has changed the record since, it stays a conflict.
func (w *write) recognise(out *written, rev int64) *written {
	switch {
	case len(w.probe) == 0:
	case w.value == nil:
		if len(out.seen) == 0 {
			return &written{rev: rev}
		}
	default:
		if kv := out.seen[w.probe[0]]; kv != nil && bytes.Equal(kv.value, w.value) {
			return &written{rev: kv.rev}
		}
	}
	return out
}

// deletesOnly says whether etcd takes w when it is out of space.
func (w *write) deletesOnly() bool { return w.value == nil }

// volume is how much w writes, in bytes.
func (w *write) volume() (n int) {
	for i := range w.then {
		n += len(w.then[i].KeyBytes()) + len(w.then[i].ValueBytes())
	}
	return n
}
