package storetest

import (
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var kvClaims = []claim{
	{"each write is one revision and each put one version", func(s *store) {
		first := s.put("k", "1").Header.Revision
		second := s.put("k", "2").Header.Revision
		s.want("second put", second, first+1)
		kv := s.get("k").Kvs[0]
		s.want("create, mod, version", []int64{kv.CreateRevision, kv.ModRevision, kv.Version}, []int64{first, second, 2})
	}},
	{"a key begins anew after its deletion", func(s *store) {
		s.put("k", "1")
		s.put("k", "2")
		s.del("k")
		rev := s.put("k", "3").Header.Revision
		kv := s.get("k").Kvs[0]
		s.want("create, mod, version", []int64{kv.CreateRevision, kv.ModRevision, kv.Version}, []int64{rev, rev, 1})
	}},
	{"a deletion of nothing is no revision", func(s *store) {
		before := s.rev()
		r := s.del("", clientv3.WithPrefix())
		s.want("deleted", r.Deleted, 0)
		s.want("revision", r.Header.Revision, before)
		s.want("revision later", s.rev(), before)
	}},
	{"a deletion of many keys is one revision", func(s *store) {
		s.put("a", "")
		before := s.put("b", "").Header.Revision
		r := s.del("", clientv3.WithPrefix())
		s.want("deleted", r.Deleted, 2)
		s.want("revision", r.Header.Revision, before+1)
	}},
	{"writes return what they replaced", func(s *store) {
		s.want("the first replaces nothing", s.put("k", "1", clientv3.WithPrevKV()).PrevKv == nil, true)
		s.want("second", string(s.put("k", "2", clientv3.WithPrevKV()).PrevKv.Value), "1")
		s.put("l", "3")
		prev := s.del("", clientv3.WithPrefix(), clientv3.WithPrevKV()).PrevKvs
		s.want("deleted", string(prev[0].Value)+string(prev[1].Value), "23")
	}},
	{"value and lease can be left as they are", func(s *store) {
		id := s.grant(60)
		s.put("k", "1", clientv3.WithLease(id))
		s.put("k", "", clientv3.WithIgnoreValue())
		kv := s.get("k").Kvs[0]
		s.want("after ignore value", string(kv.Value)+leaseWord(kv.Lease), "1no")
		s.put("k", "2", clientv3.WithLease(id))
		s.put("k", "3", clientv3.WithIgnoreLease())
		kv = s.get("k").Kvs[0]
		s.want("after ignore lease", string(kv.Value)+leaseWord(kv.Lease), "3yes")
	}},
	{"a range is ordered, bounded and counted in full", func(s *store) {
		for _, k := range []string{"b", "a/1", "a", "c", "a/2"} {
			s.put(k, "")
		}
		s.want("prefix", s.kvs(s.get("a", clientv3.WithPrefix())), "a= a/1= a/2=")
		s.want("half open", s.kvs(s.get("a/1", clientv3.WithRange(s.key("b")))), "a/1= a/2=")
		s.want("empty", s.kvs(s.get("c", clientv3.WithRange(s.key("a")))), "")
		r := s.get("", clientv3.WithPrefix(), clientv3.WithLimit(2))
		s.want("limited", s.kvs(r), "a= a/1=")
		s.want("count and more", []any{r.Count, r.More}, []any{5, true})
		r = s.get("", clientv3.WithPrefix(), clientv3.WithLimit(5))
		s.want("at the limit", r.More, false)
		r = s.get("", clientv3.WithPrefix(), clientv3.WithCountOnly())
		s.want("count only", []any{r.Count, len(r.Kvs)}, []any{5, 0})
	}},
	{"a range can be sorted and filtered", func(s *store) {
		s.put("a", "3")
		b := s.put("b", "1").Header.Revision
		c := s.put("c", "2").Header.Revision
		s.put("a", "3")
		all := func(opts ...clientv3.OpOption) string {
			return s.kvs(s.get("", append(opts, clientv3.WithPrefix())...))
		}
		s.want("key down", all(clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend)), "c=2 b=1 a=3")
		s.want("value", all(clientv3.WithSort(clientv3.SortByValue, clientv3.SortAscend)), "b=1 c=2 a=3")
		s.want("version down", all(clientv3.WithSort(clientv3.SortByVersion, clientv3.SortDescend), clientv3.WithLimit(1)), "a=3")
		s.want("create", all(clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)), "a=3 b=1 c=2")
		s.want("mod", all(clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend)), "b=1 c=2 a=3")
		s.want("min mod", all(clientv3.WithMinModRev(c)), "a=3 c=2")
		s.want("max mod", all(clientv3.WithMaxModRev(b)), "b=1")
		s.want("min create", all(clientv3.WithMinCreateRev(c)), "c=2")
		s.want("max create", all(clientv3.WithMaxCreateRev(b)), "a=3 b=1")
		s.want("filter leaves the count", s.get("", clientv3.WithPrefix(), clientv3.WithMaxCreateRev(b)).Count, 3)
		s.want("keys only", all(clientv3.WithKeysOnly()), "a= b= c=")
		s.put("d", "0")
		s.want("a target without an order is sorted after the limit", all(clientv3.WithSort(clientv3.SortByValue, clientv3.SortNone), clientv3.WithLimit(1)), "b=1")
	}},
	{"the past can be read until it is compacted", func(s *store) {
		first := s.put("k", "1").Header.Revision
		second := s.put("k", "2").Header.Revision
		gone := s.del("k").Header.Revision
		last := s.put("k", "3").Header.Revision
		s.want("first", s.kvs(s.get("k", clientv3.WithRev(first))), "k=1")
		s.want("deleted", s.kvs(s.get("k", clientv3.WithRev(gone))), "")
		s.want("header is the present", s.get("k", clientv3.WithRev(first)).Header.Revision, last)
		must(s.Compact(s.ctx, second, clientv3.WithCompactPhysical()))(s)
		s.want("at the compacted revision", s.kvs(s.get("k", clientv3.WithRev(second))), "k=2")
		_, err := s.Get(s.ctx, s.key("k"), clientv3.WithRev(first))
		s.wantErr("before it", err, rpctypes.ErrCompacted)
		_, err = s.Get(s.ctx, s.key("k"), clientv3.WithRev(last+1))
		s.wantErr("the future", err, rpctypes.ErrFutureRev)
		_, err = s.Compact(s.ctx, second)
		s.wantErr("compact again", err, rpctypes.ErrCompacted)
		_, err = s.Compact(s.ctx, last+1)
		s.wantErr("compact the future", err, rpctypes.ErrFutureRev)
	}},
}

func leaseWord(id int64) string {
	if id == 0 {
		return "no"
	}
	return "yes"
}
