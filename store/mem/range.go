package mem

import (
	"bytes"
	"cmp"
	"math"
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// readRange answers a range request. now is the present revision of the store.
// In a transaction that has already written, it is the next revision.
func (d *data) readRange(r *pb.RangeRequest, now int64) (*pb.RangeResponse, error) {
	rev := r.Revision
	switch {
	case rev > now:
		return nil, rpctypes.ErrGRPCFutureRev
	case rev <= 0:
		rev = now
	}
	if rev < d.compacted {
		return nil, rpctypes.ErrGRPCCompacted
	}

	kvs, count := d.collect(r, rev)
	kvs = filter(kvs, r)
	order(kvs, r)
	resp := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: now}, Count: count}
	if r.Limit > 0 && int64(len(kvs)) > r.Limit {
		kvs, resp.More = kvs[:r.Limit], true
	}
	if r.KeysOnly {
		for _, kv := range kvs {
			kv.Value = nil
		}
	}
	resp.Kvs = kvs
	return resp, nil
}

// collect returns the pairs of a range in the order of keys, and their total
// number. If no filter or order needs all pairs, it returns at most one pair
// more than the limit.
func (d *data) collect(r *pb.RangeRequest, rev int64) (kvs []*mvccpb.KeyValue, count int64) {
	limit := r.Limit
	if !byKey(r.SortTarget, r.SortOrder) || r.MinModRevision != 0 || r.MaxModRevision != 0 ||
		r.MinCreateRevision != 0 || r.MaxCreateRevision != 0 {
		limit = 0
	}
	if limit > 0 && limit < math.MaxInt64 {
		limit++
	}
	// etcd answers a request for keys only from its index, which has no leases.
	indexOnly := r.KeysOnly && r.SortTarget != pb.RangeRequest_VALUE

	for rec := range d.keys.within(spanOf(r.Key, r.RangeEnd)) {
		v, ok := rec.at(rev)
		if !ok {
			continue
		}
		count++
		if r.CountOnly || limit > 0 && int64(len(kvs)) >= limit {
			continue
		}
		if indexOnly {
			v.value, v.lease = nil, 0
		}
		kvs = append(kvs, v.kv(rec.key))
	}
	return kvs, count
}

// byKey reports whether a request asks for the order of keys, in which the store
// already lists them. As in etcd, this includes requests without an order, also
// if they name another target.
func byKey(target pb.RangeRequest_SortTarget, order pb.RangeRequest_SortOrder) bool {
	return order == pb.RangeRequest_NONE ||
		target == pb.RangeRequest_KEY && order == pb.RangeRequest_ASCEND
}

func filter(kvs []*mvccpb.KeyValue, r *pb.RangeRequest) []*mvccpb.KeyValue {
	kept := kvs[:0]
	for _, kv := range kvs {
		if r.MaxModRevision != 0 && kv.ModRevision > r.MaxModRevision ||
			r.MinModRevision != 0 && kv.ModRevision < r.MinModRevision ||
			r.MaxCreateRevision != 0 && kv.CreateRevision > r.MaxCreateRevision ||
			r.MinCreateRevision != 0 && kv.CreateRevision < r.MinCreateRevision {
			continue
		}
		kept = append(kept, kv)
	}
	return kept
}

// sorter orders pairs by one of etcd's targets. It uses sort.Sort as etcd does,
// so that equal pairs come in the same order.
type sorter struct {
	kvs    []*mvccpb.KeyValue
	target pb.RangeRequest_SortTarget
}

func (s sorter) Len() int      { return len(s.kvs) }
func (s sorter) Swap(i, j int) { s.kvs[i], s.kvs[j] = s.kvs[j], s.kvs[i] }
func (s sorter) Less(i, j int) bool {
	a, b := s.kvs[i], s.kvs[j]
	switch s.target {
	case pb.RangeRequest_VERSION:
		return cmp.Less(a.Version, b.Version)
	case pb.RangeRequest_CREATE:
		return cmp.Less(a.CreateRevision, b.CreateRevision)
	case pb.RangeRequest_MOD:
		return cmp.Less(a.ModRevision, b.ModRevision)
	case pb.RangeRequest_VALUE:
		return bytes.Compare(a.Value, b.Value) < 0
	}
	return bytes.Compare(a.Key, b.Key) < 0
}

func order(kvs []*mvccpb.KeyValue, r *pb.RangeRequest) {
	by := r.SortOrder
	if r.SortTarget != pb.RangeRequest_KEY && by == pb.RangeRequest_NONE {
		by = pb.RangeRequest_ASCEND
	}
	s := sorter{kvs, r.SortTarget}
	switch {
	case byKey(r.SortTarget, by):
	case by == pb.RangeRequest_DESCEND:
		sort.Sort(sort.Reverse(s))
	default:
		sort.Sort(s)
	}
}
