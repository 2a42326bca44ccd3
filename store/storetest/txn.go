package storetest

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func (s *store) txn(cmps []clientv3.Cmp, then, otherwise []clientv3.Op) *clientv3.TxnResponse {
	s.Helper()
	return must(s.Txn(s.ctx).If(cmps...).Then(then...).Else(otherwise...).Commit())(s)
}

var txnClaims = []claim{
	{"all writes share a revision, and reads see them", func(s *store) {
		before := s.put("a", "1").Header.Revision
		r := s.txn(nil, []clientv3.Op{
			clientv3.OpGet(s.key("a")),
			clientv3.OpPut(s.key("a"), "2"),
			clientv3.OpPut(s.key("b"), "3"),
			clientv3.OpGet(s.key(""), clientv3.WithPrefix()),
		}, nil)
		s.want("revision", r.Header.Revision, before+1)
		s.want("read before", s.kvs((*clientv3.GetResponse)(r.Responses[0].GetResponseRange())), "a=1")
		s.want("read after", s.kvs((*clientv3.GetResponse)(r.Responses[3].GetResponseRange())), "a=2 b=3")
		got := s.get("", clientv3.WithPrefix())
		s.want("mod revisions", []int64{got.Kvs[0].ModRevision, got.Kvs[1].ModRevision}, []int64{before + 1, before + 1})
	}},
	{"without a write there is no revision", func(s *store) {
		before := s.rev()
		r := s.txn(nil, []clientv3.Op{clientv3.OpGet(s.key("a")), clientv3.OpDelete(s.key("a")), clientv3.OpTxn(nil, nil, nil)}, nil)
		s.want("revision", r.Header.Revision, before)
		s.want("revision later", s.rev(), before)
	}},
	{"guards compare every attribute", func(s *store) {
		id := s.grant(60)
		create := s.put("k", "m").Header.Revision
		mod := s.put("k", "m", clientv3.WithLease(id)).Header.Revision
		k, none := s.key("k"), s.key("none")
		for i, c := range []struct {
			cmp  clientv3.Cmp
			want bool
		}{
			{clientv3.Compare(clientv3.Value(k), "=", "m"), true},
			{clientv3.Compare(clientv3.Value(k), "<", "n"), true},
			{clientv3.Compare(clientv3.Value(k), ">", "n"), false},
			{clientv3.Compare(clientv3.Value(none), "!=", "m"), false},
			{clientv3.Compare(clientv3.Value(none), "=", ""), false},
			{clientv3.Compare(clientv3.CreateRevision(k), "=", create), true},
			{clientv3.Compare(clientv3.CreateRevision(none), "=", 0), true},
			{clientv3.Compare(clientv3.ModRevision(k), "=", mod), true},
			{clientv3.Compare(clientv3.ModRevision(k), "!=", mod), false},
			{clientv3.Compare(clientv3.Version(k), ">", 1), true},
			{clientv3.Compare(clientv3.Version(none), "<", 1), true},
			{clientv3.Compare(clientv3.LeaseValue(k), "=", id), true},
			{clientv3.Compare(clientv3.LeaseValue(k), "=", clientv3.NoLease), false},
		} {
			s.want(fmt.Sprint("guard ", i), s.txn([]clientv3.Cmp{c.cmp}, nil, nil).Succeeded, c.want)
		}
	}},
	{"a guard on a range asks of every key", func(s *store) {
		s.put("a", "1")
		s.put("b", "1")
		all := clientv3.Compare(clientv3.Value(s.key("")), "=", "1").WithPrefix()
		s.want("all equal", s.txn([]clientv3.Cmp{all}, nil, nil).Succeeded, true)
		s.put("b", "2")
		s.want("one differs", s.txn([]clientv3.Cmp{all}, nil, nil).Succeeded, false)
		absent := clientv3.Compare(clientv3.CreateRevision(s.key("none/")), "=", 0).WithPrefix()
		s.want("no keys", s.txn([]clientv3.Cmp{absent}, nil, nil).Succeeded, true)
	}},
	{"nested transactions fail each on its own", func(s *store) {
		before := s.put("a", "1").Header.Revision
		guarded := func(k, v string) clientv3.Op {
			return clientv3.OpTxn(
				[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.key(k)), "=", 0)},
				[]clientv3.Op{clientv3.OpPut(s.key(k), v)},
				[]clientv3.Op{clientv3.OpGet(s.key(k))},
			)
		}
		r := s.txn(nil, []clientv3.Op{guarded("a", "2"), guarded("b", "2"), guarded("c", "2")}, nil)
		s.want("revision", r.Header.Revision, before+1)
		var ok []bool
		for _, op := range r.Responses {
			ok = append(ok, op.GetResponseTxn().Succeeded)
		}
		s.want("succeeded", ok, []bool{false, true, true})
		s.want("after", s.kvs(s.get("", clientv3.WithPrefix())), "a=1 b=2 c=2")
	}},
	{"nested guards see the state before the whole", func(s *store) {
		r := s.txn(nil, []clientv3.Op{
			clientv3.OpPut(s.key("a"), "1"),
			clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.key("a")), "=", 0)}, nil, nil),
		}, nil)
		s.want("nested", r.Responses[1].GetResponseTxn().Succeeded, true)
	}},
	{"one operation that cannot be stops the whole", func(s *store) {
		before := s.rev()
		_, err := s.Txn(s.ctx).Then(clientv3.OpPut(s.key("a"), "1"), clientv3.OpPut(s.key("b"), "1", clientv3.WithLease(404))).Commit()
		s.wantErr("unknown lease", err, rpctypes.ErrLeaseNotFound)
		_, err = s.Txn(s.ctx).Then(clientv3.OpPut(s.key("a"), "1"), clientv3.OpPut(s.key("b"), "", clientv3.WithIgnoreValue())).Commit()
		s.wantErr("no value to keep", err, rpctypes.ErrKeyNotFound)
		_, err = s.Txn(s.ctx).Then(clientv3.OpPut(s.key("a"), "1"), clientv3.OpGet(s.key("b"), clientv3.WithRev(before+9))).Commit()
		s.wantErr("a future read", err, rpctypes.ErrFutureRev)
		s.want("revision", s.rev(), before)
	}},
	{"a put then a deletion in a later nested transaction are two events of one revision", func(s *store) {
		s.put("k", "0")
		rev := s.rev()
		s.txn(nil, []clientv3.Op{
			clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(s.key("k"), "1")}, nil),
			clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpDelete(s.key("k"))}, nil),
		}, nil)
		w := s.Watch(s.ctx, s.key("k"), clientv3.WithRev(rev+1), clientv3.WithPrevKV())
		s.want("events", s.events(s.next(w)), "+k=1(0) -k(0)")

		must(s.Compact(s.ctx, rev+1, clientv3.WithCompactPhysical()))(s)
		w = s.Watch(s.ctx, s.key("k"), clientv3.WithRev(rev+1))
		s.want("events after compaction there", s.events(s.next(w)), "-k")
	}},
	{"it reads the past down to the compaction", func(s *store) {
		first := s.put("k", "1").Header.Revision
		second := s.put("k", "2").Header.Revision
		s.put("k", "3")
		must(s.Compact(s.ctx, second, clientv3.WithCompactPhysical()))(s)
		r := s.txn(nil, []clientv3.Op{clientv3.OpPut(s.key("l"), ""), clientv3.OpGet(s.key("k"), clientv3.WithRev(second))}, nil)
		s.want("at the compaction", s.kvs((*clientv3.GetResponse)(r.Responses[1].GetResponseRange())), "k=2")
		_, err := s.Txn(s.ctx).Then(clientv3.OpPut(s.key("l"), ""), clientv3.OpGet(s.key("k"), clientv3.WithRev(first))).Commit()
		s.wantErr("below it", err, rpctypes.ErrCompacted)
	}},
}
