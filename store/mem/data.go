package mem

import (
	"sort"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// data is the multi-version store. It has the history of every key, and the log
// of all changes in the order of their revisions. Both begin at the last
// compaction.
type data struct {
	rev       int64 // the last revision; 1 if nothing was ever written
	compacted int64 // the last compacted revision; -1 if there is none
	keys      index
	log       []change
	leases    leases
}

// change is one put or deletion. Changes of one transaction share a revision
// and stand in the log in the order in which they were made.
type change struct {
	rec *record
	version
}

func newData() *data {
	return &data{rev: 1, compacted: -1, leases: leases{byID: make(map[int64]*lease)}}
}

// at returns key's value as of rev, or nil.
func (d *data) at(key string, rev int64) *mvccpb.KeyValue {
	if r := d.keys.get(key); r != nil {
		if v, ok := r.at(rev); ok {
			return v.kv(key)
		}
	}
	return nil
}

// before returns the value that a change at rev replaced: the value of key at
// the revision before. It returns nil if that revision is compacted.
func (d *data) before(key string, rev int64) *mvccpb.KeyValue {
	if rev-1 < d.compacted {
		return nil
	}
	return d.at(key, rev-1)
}

// since returns the changes at revision rev and later.
func (d *data) since(rev int64) []change {
	return d.log[sort.Search(len(d.log), func(i int) bool { return d.log[i].rev >= rev }):]
}

// compact removes the versions and changes that only reads below rev need.
func (d *data) compact(rev int64) error {
	switch {
	case rev <= d.compacted:
		return rpctypes.ErrGRPCCompacted
	case rev > d.rev:
		return rpctypes.ErrGRPCFutureRev
	}
	d.compacted = rev
	rest := d.since(rev + 1)
	dropped := d.log[:len(d.log)-len(rest)]

	// Only keys that changed up to rev since the last compaction have old
	// versions. The log names these keys.
	var kept []change
	for _, c := range dropped {
		if d.keys.get(c.rec.key) != c.rec {
			continue // the key is removed already
		}
		if c.rec.compact(rev) {
			d.keys.remove(c.rec.key)
		}
	}
	// A watch may still begin at rev, so the changes at rev stay. Of several
	// changes of one key at rev, only the last is left.
	for _, c := range dropped {
		if c.rev == rev && d.keys.get(c.rec.key) == c.rec && c.same(c.rec.versions[0]) {
			kept = append(kept, c)
		}
	}
	d.log = append(kept, rest...) //nolint:gocritic // kept is a slice of its own
	return nil
}

func (v version) same(w version) bool { return v.rev == w.rev && v.count == w.count }

// write collects the changes of one transaction. Reads through it see these
// changes.
type write struct {
	*data
	changes []change
}

// now is the revision that reads inside the transaction see.
func (w *write) now() int64 {
	if len(w.changes) > 0 {
		return w.rev + 1
	}
	return w.rev
}

func (w *write) put(key string, value []byte, leaseID int64) {
	next := w.rev + 1
	rec := w.keys.get(key)
	if rec == nil {
		rec = &record{key: key}
		w.keys.insert(rec)
	}
	v := version{rev: next, create: next, count: 1, lease: leaseID}
	if len(value) > 0 {
		v.value = append([]byte(nil), value...)
	}
	if old, ok := rec.at(next); ok {
		v.create, v.count = old.create, old.count+1
		if old.lease != leaseID {
			w.leases.detach(old.lease, key)
		}
	}
	w.leases.attach(leaseID, key)
	w.record(rec, v)
}

// delete deletes the existing keys of a span and returns their number.
func (w *write) delete(s span) int64 {
	var found []*record
	for r := range w.keys.within(s) {
		if _, ok := r.at(w.rev + 1); ok {
			found = append(found, r)
		}
	}
	for _, r := range found {
		old, _ := r.at(w.rev + 1)
		w.leases.detach(old.lease, r.key)
		w.record(r, version{rev: w.rev + 1})
	}
	return int64(len(found))
}

func (w *write) record(r *record, v version) {
	r.versions = append(r.versions, v)
	w.changes = append(w.changes, change{rec: r, version: v})
}

// commit stores the collected changes as the next revision. Without changes it
// does nothing.
func (w *write) commit() []change {
	if len(w.changes) > 0 {
		w.rev++
		w.log = append(w.log, w.changes...)
	}
	return w.changes
}
