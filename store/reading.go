package store

import (
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// reading is what a mirror makes of one key before it takes it over.
type reading struct {
	key      string
	kind     Kind   // "": of none that is known
	name     string // within its kind
	record   record
	gone     bool
	mirrored bool // the mirror keeps the record, or the key is of no known kind; others are only checked
}

// bad is why nobody can read the key.
func (r *reading) bad() error {
	err, _ := r.record.value.(error)
	return err
}

// read reads what is at a key. Several goroutines may call it.
func (m *Mirror) read(kv *mvccpb.KeyValue) reading {
	r := m.absence(kv)
	r.gone = false
	c := decodeKV(r.kind, r.name, kv)
	if run := job.ValueOf[job.Run](c); run != nil && run.State.Terminal() {
		run.Output, run.Payload, run.Spec = "", nil, nil
	}
	r.record.value = c.Value
	if c.Bad != nil {
		r.record.value = c.Bad
	}
	return r
}

// absence is a key at which nothing is any more.
func (m *Mirror) absence(kv *mvccpb.KeyValue) reading {
	r := reading{key: string(kv.Key), record: record{rev: kv.ModRevision}, gone: true}
	r.kind, r.name, _ = m.store.keys.Parse(r.key)
	r.mirrored = familyOf(r.kind).mirrored
	return r
}

// lostGate is why nobody can read the record of the cluster-wide pause, with what holds nonetheless.
type lostGate struct {
	error
	gate *job.Gate
}

// gateLocked is the cluster-wide pause as it was last known, for when nobody can read its record. If that was so from the
// beginning, somebody may have paused all jobs: they are not begun until it is known that they may be.
func (m *Mirror) gateLocked() *job.Gate {
	switch v := m.records[KindGate][""].value.(type) {
	case *job.Gate:
		return v
	case lostGate:
		return v.gate
	}
	if m.rev > 0 { // there was none
		return &job.Gate{}
	}
	return &job.Gate{Paused: &job.Pause{At: time.Now().UTC(), Reason: reasonLostGate}}
}

const reasonLostGate = "the record that says whether all jobs are paused cannot be read: `rota resume --all` or `rota pause --all` replaces it"

// record is what a Mirror keeps of a job.Change: a fourth of its size.
type record struct {
	rev   int64
	value any // Change.Value; or why it cannot be read: an error, of a gate a lostGate
}

// change returns the change of which r was kept.
func (r record) change(kind Kind, name string) job.Change {
	c := job.Change{Kind: kind, Name: name, Rev: r.rev}
	switch v := r.value.(type) {
	case lostGate:
		c.Bad, c.Value = v.error, v.gate
	case error:
		c.Bad = v
	default:
		c.Value = v
	}
	return c
}
