package storetest

import (
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// answer formats a response or its error. It includes everything that a client
// can see, except values that differ between two equal stores.
func (s *side) answer(r clientv3.OpResponse, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("%T %v", err, err)
	case r.Put() != nil:
		return s.put((*pb.PutResponse)(r.Put()))
	case r.Get() != nil:
		return s.get((*pb.RangeResponse)(r.Get()))
	case r.Del() != nil:
		return s.del((*pb.DeleteRangeResponse)(r.Del()))
	}
	return s.txn((*pb.TxnResponse)(r.Txn()))
}

func (s *side) header(h *pb.ResponseHeader) string {
	return fmt.Sprintf("@%d", s.relative(h.GetRevision()))
}

func (s *side) kv(kv *mvccpb.KeyValue) string {
	if kv == nil {
		return "nil"
	}
	return fmt.Sprintf("%s=%q c%d m%d v%d %s", kv.Key, kv.Value, s.relative(kv.CreateRevision), s.relative(kv.ModRevision), kv.Version, s.leaseName(kv.Lease))
}

func (s *side) kvs(kvs []*mvccpb.KeyValue) string {
	var out []string
	for _, kv := range kvs {
		out = append(out, s.kv(kv))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (s *side) put(r *pb.PutResponse) string {
	return fmt.Sprintf("put%s prev %s", s.header(r.Header), s.kv(r.PrevKv))
}

func (s *side) get(r *pb.RangeResponse) string {
	return fmt.Sprintf("get%s %s count %d more %v", s.header(r.Header), s.kvs(r.Kvs), r.Count, r.More)
}

func (s *side) del(r *pb.DeleteRangeResponse) string {
	return fmt.Sprintf("delete%s %d prev %s", s.header(r.Header), r.Deleted, s.kvs(r.PrevKvs))
}

func (s *side) txn(r *pb.TxnResponse) string {
	var out []string
	for _, op := range r.Responses {
		switch o := op.Response.(type) {
		case *pb.ResponseOp_ResponsePut:
			out = append(out, s.put(o.ResponsePut))
		case *pb.ResponseOp_ResponseRange:
			out = append(out, s.get(o.ResponseRange))
		case *pb.ResponseOp_ResponseDeleteRange:
			out = append(out, s.del(o.ResponseDeleteRange))
		case *pb.ResponseOp_ResponseTxn:
			out = append(out, s.txn(o.ResponseTxn))
		}
	}
	return fmt.Sprintf("txn%s %v {%s}", s.header(r.Header), r.Succeeded, strings.Join(out, "; "))
}

func (s *side) timeToLive(r *clientv3.LeaseTimeToLiveResponse, err error) string {
	if err != nil {
		return fmt.Sprintf("%T %v", err, err)
	}
	var keys []string
	for _, k := range r.Keys {
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	return fmt.Sprintf("ttl%s lives %v granted %d keys %q", s.header(r.ResponseHeader), r.TTL > 0, r.GrantedTTL, keys)
}

func (s *side) event(e *clientv3.Event) string {
	return fmt.Sprintf("%s %s prev %s", e.Type, s.kv(e.Kv), s.kv(e.PrevKv))
}
