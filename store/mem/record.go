package mem

import (
	"bytes"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// record is one key's history since the last compaction, oldest first.
type record struct {
	key      string
	versions []version
}

// version is a key's value from one revision on. It is never changed.
type version struct {
	rev    int64
	create int64
	count  int64 // puts since the key was created; 0 marks a deletion
	lease  int64
	value  []byte // nil if empty
}

func (v version) deleted() bool { return v.count == 0 }

// at returns the version that is current at rev, and whether the key exists
// then. Of several versions of one revision the last one counts.
func (r *record) at(rev int64) (version, bool) {
	for _, v := range slices.Backward(r.versions) {
		if v.rev <= rev {
			return v, !v.deleted()
		}
	}
	return version{}, false
}

// compact removes the versions that no read needs after a compaction at rev.
// These are all versions before the one that is current at rev. If the current
// one is a deletion before rev, compact removes it too. It reports whether no
// version is left.
func (r *record) compact(rev int64) (gone bool) {
	first := 0
	for first+1 < len(r.versions) && r.versions[first+1].rev <= rev {
		first++
	}
	if v := r.versions[first]; v.deleted() && v.rev < rev {
		first++
	}
	if first == len(r.versions) {
		return true
	}
	if first > 0 {
		// A copy, so that the memory of the removed values is freed.
		r.versions = append([]version(nil), r.versions[first:]...)
	}
	return false
}

// kv returns a copy of v, which the client may change.
func (v version) kv(key string) *mvccpb.KeyValue {
	if v.deleted() {
		return &mvccpb.KeyValue{Key: []byte(key), ModRevision: v.rev}
	}
	return &mvccpb.KeyValue{
		Key:            []byte(key),
		Value:          bytes.Clone(v.value),
		CreateRevision: v.create,
		ModRevision:    v.rev,
		Version:        v.count,
		Lease:          v.lease,
	}
}
