package store

import (
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// keyState is the decoded state of one key, from a watch or a list.
type keyState struct {
	key     string
	kind    Kind   // "" if the key is of no known kind
	name    string // within its kind
	record  record
	deleted bool
	// mirrored: the mirror keeps the record, or the key is of no known kind. The mirror only checks other records.
	mirrored bool
}

// bad returns why the record is unreadable; nil if it is readable or deleted.
func (k *keyState) bad() error {
	err, _ := k.record.value.(error)
	return err
}

// decode decodes a key and its record. Several goroutines may call it at the same time.
func (m *Mirror) decode(kv *mvccpb.KeyValue) keyState {
	k := m.deletion(kv)
	k.deleted = false
	c := decodeKV(k.kind, k.name, kv)
	k.record.value = c.Value
	if run := job.ValueOf[job.Run](c); run != nil {
		if run.State.Terminal() {
			run.Output, run.Payload, run.Spec = "", nil, nil
		}
		if d := run.Delay(); d != nil {
			k.record.value = d
		}
	}
	if c.Bad != nil {
		k.record.value = c.Bad
	}
	return k
}

// deletion returns the state of a deleted key.
func (m *Mirror) deletion(kv *mvccpb.KeyValue) keyState {
	k := keyState{key: string(kv.Key), record: record{rev: kv.ModRevision}, deleted: true}
	k.kind, k.name, _ = m.store.keys.Parse(k.key)
	k.mirrored = familyOf(k.kind).mirrored
	return k
}

// record is the part of a job.Change that a Mirror keeps. A whole job.Change would take four times the memory.
type record struct {
	rev   int64
	value any // Change.Value; if the record is unreadable, the cause: an error, or an unreadableGate for a gate
}

// change returns the change from which r was made.
func (r record) change(kind Kind, name string) job.Change {
	c := job.Change{Kind: kind, Name: name, Rev: r.rev}
	switch v := r.value.(type) {
	case unreadableGate:
		c.Bad, c.Value = v.error, v.gate
	case error:
		c.Bad = v
	default:
		c.Value = v
	}
	return c
}

// unreadableGate is the error for an unreadable record of the cluster-wide pause. It also has the gate that applies
// meanwhile.
type unreadableGate struct {
	error
	gate *job.Gate
}

// lastGateLocked returns the gate that applies while its record is unreadable: the last readable one. If there was none since the
// start, all jobs are paused, because somebody may have paused them.
func (m *Mirror) lastGateLocked() *job.Gate {
	switch v := m.records[KindGate][""].value.(type) {
	case *job.Gate:
		return v
	case unreadableGate:
		return v.gate
	}
	if m.rev > 0 { // there was no record
		return &job.Gate{}
	}
	return &job.Gate{Paused: &job.Pause{At: time.Now().UTC(), Reason: reasonUnreadableGate}}
}

const reasonUnreadableGate = "the record of the pause of all jobs is unreadable: " +
	"`rota resume --all` or `rota pause --all` replaces it"
