package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// reading is what a mirror makes of one key before it takes it over.
type reading struct {
	key      string
	kind     Kind   // "": of none that is known
	name     string // within its kind
	record   record // if it is not copied: an event, or an error if it cannot be what it is said to be
	gone     bool
	mirrored bool // it is copied, or is of no known kind; others are only glanced at
}

// bad is why nobody can read the key.
func (r *reading) bad() error {
	err, _ := r.record.value.(error)
	return err
}

// read reads what is at a key. It may be called by several goroutines.
func (m *Mirror) read(kv *mvccpb.KeyValue) reading {
	r := m.absence(kv)
	r.gone = false
	if !r.mirrored {
		switch event, err := glance(r.kind, r.name, kv); {
		case err != nil:
			r.record.value = err
		case event != nil:
			r.record.value = event
		}
		return r
	}
	c := decodeKV(r.kind, r.name, kv)
	if run := c.Run; run != nil && run.State.Terminal() {
		run.Output, run.Payload, run.Spec = "", nil, nil
	}
	r.record = recordOf(&c)
	return r
}

// absence is a key at which nothing is any more.
func (m *Mirror) absence(kv *mvccpb.KeyValue) reading {
	r := reading{key: string(kv.Key), record: record{rev: kv.ModRevision}, gone: true}
	kind, name, ok := m.store.keys.Parse(r.key)
	r.kind, r.name, r.mirrored = kind, name, !ok || mirrored(kind)
	return r
}

// glance looks at a record that is not copied, only so that one put there by hand is reported, and an event passed on.
func glance(kind Kind, name string, kv *mvccpb.KeyValue) (event *job.Event, bad error) {
	switch kind {
	case KindElection:
		if kv.Lease == 0 {
			bad = errors.New("a candidate without a lease, which only somebody's hand can have put there")
		}
	case KindTakeover:
		if kv.Lease == 0 {
			bad = errors.New("a takeover without a lease, which only somebody's hand can have put there")
		}
	case KindEvents:
		c := decode(kind, name, kv.Value, kv.ModRevision)
		event, bad = c.Event, c.Bad
	case KindEra:
		_, bad = decodeEra(kv.Value)
	case KindStones:
		_, bad = decodeStone(kv.Value)
	case KindQueues:
		if !orderly(kv.Value) {
			bad = errors.New("not an order")
		}
	}
	return event, bad
}

// orderly says whether a value looks like an order. One that begins and ends as we write them is not looked at any further:
// its worker reads all of it.
func orderly(value []byte) bool {
	if bytes.HasPrefix(value, []byte(`{"id":"`)) && bytes.HasSuffix(value, []byte(`]}`)) {
		return true
	}
	var order struct{ Session string }
	return json.Unmarshal(value, &order) == nil && order.Session != ""
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

// record is what a mirror keeps of a job.Change: a fifth of its size.
type record struct {
	rev   int64
	value any // what the change points to, or why it cannot be read
}

func recordOf(c *job.Change) record {
	r := record{rev: c.Rev}
	switch {
	case c.Bad != nil:
		r.value = c.Bad
	case c.Job != nil:
		r.value = c.Job
	case c.Cursor != nil:
		r.value = c.Cursor
	case c.Run != nil:
		r.value = c.Run
	case c.Worker != nil:
		r.value = c.Worker
	case c.Replica != nil:
		r.value = c.Replica
	case c.Limit != nil:
		r.value = c.Limit
	case c.Gate != nil:
		r.value = c.Gate
	case c.Files != nil:
		r.value = c.Files
	case c.Told != nil:
		r.value = c.Told
	}
	return r
}

// change is what r was made of.
func (r record) change(kind Kind, name string) job.Change {
	c := job.Change{Kind: kind, Name: name, Rev: r.rev}
	switch v := r.value.(type) {
	case lostGate:
		c.Bad, c.Gate = v.error, v.gate
	case error:
		c.Bad = v
	case *job.Job:
		c.Job = v
	case *job.Cursor:
		c.Cursor = v
	case *job.Run:
		c.Run = v
	case *job.Worker:
		c.Worker = v
	case *job.Replica:
		c.Replica = v
	case *job.Limit:
		c.Limit = v
	case *job.Gate:
		c.Gate = v
	case *job.Files:
		c.Files = v
	case *job.Told:
		c.Told = v
	case *job.Event:
		c.Event = v
	}
	return c
}
