package storetest

import (
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var refusalClaims = []claim{
	{"a key must not be empty", func(s *store) {
		_, err := s.Put(s.ctx, "", "v")
		s.wantErr("put", err, rpctypes.ErrEmptyKey)
		_, err = s.Get(s.ctx, "")
		s.wantErr("get", err, rpctypes.ErrEmptyKey)
		_, err = s.Delete(s.ctx, "")
		s.wantErr("delete", err, rpctypes.ErrEmptyKey)
		_, err = s.Txn(s.ctx).If(clientv3.Compare(clientv3.Version(""), "=", 0)).Commit()
		s.wantErr("guard", err, rpctypes.ErrEmptyKey)
		_, err = s.Txn(s.ctx).Else(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet("")}, nil)).Commit()
		s.wantErr("branch not taken", err, rpctypes.ErrEmptyKey)
	}},
	{"a put needs what it refers to", func(s *store) {
		_, err := s.Put(s.ctx, s.key("k"), "v", clientv3.WithLease(404))
		s.wantErr("lease", err, rpctypes.ErrLeaseNotFound)
		_, err = s.Put(s.ctx, s.key("k"), "", clientv3.WithIgnoreValue())
		s.wantErr("value to keep", err, rpctypes.ErrKeyNotFound)
		_, err = s.Put(s.ctx, s.key("k"), "v", clientv3.WithIgnoreLease())
		s.wantErr("lease to keep", err, rpctypes.ErrKeyNotFound)
		_, err = s.Put(s.ctx, s.key("k"), "v", clientv3.WithIgnoreValue())
		s.wantErr("value twice", err, rpctypes.ErrValueProvided)
		_, err = s.Put(s.ctx, s.key("k"), "v", clientv3.WithIgnoreLease(), clientv3.WithLease(1))
		s.wantErr("lease twice", err, rpctypes.ErrLeaseProvided)
	}},
	{"a transaction writes a key once", func(s *store) {
		put := func(k string) clientv3.Op { return clientv3.OpPut(s.key(k), "") }
		nest := func(then, otherwise []clientv3.Op) clientv3.Op { return clientv3.OpTxn(nil, then, otherwise) }
		list := func(ops ...clientv3.Op) []clientv3.Op { return ops }
		for _, c := range []struct {
			name string
			ops  []clientv3.Op
			want error
		}{
			{"put twice", list(put("a"), put("a")), rpctypes.ErrDuplicateKey},
			{"put and delete", list(put("a"), clientv3.OpDelete(s.key("a"))), rpctypes.ErrDuplicateKey},
			{"put in a deleted range", list(clientv3.OpDelete(s.key(""), clientv3.WithPrefix()), put("a")), rpctypes.ErrDuplicateKey},
			{"nested and outer", list(nest(list(put("a")), nil), put("a")), rpctypes.ErrDuplicateKey},
			{"two nested", list(nest(list(put("a")), nil), nest(nil, list(put("a")))), rpctypes.ErrDuplicateKey},
			{"deleted outside, put inside", list(nest(list(put("a")), nil), clientv3.OpDelete(s.key("a"))), rpctypes.ErrDuplicateKey},
			{"both branches of one", list(nest(list(put("a")), list(put("a")))), nil},
			{"delete twice", list(clientv3.OpDelete(s.key("a")), clientv3.OpDelete(s.key("a"))), nil},
		} {
			_, err := s.Txn(s.ctx).Then(c.ops...).Commit()
			s.wantErr(c.name, err, c.want)
		}
	}},
	{"a transaction has 128 operations, nested ones with it", func(s *store) {
		puts := func(n, from int) (ops []clientv3.Op) {
			for i := range n {
				ops = append(ops, clientv3.OpPut(s.key(fmt.Sprint(from+i)), ""))
			}
			return ops
		}
		_, err := s.Txn(s.ctx).Then(puts(128, 0)...).Commit()
		s.wantErr("128", err, nil)
		_, err = s.Txn(s.ctx).Then(puts(129, 0)...).Commit()
		s.wantErr("129", err, rpctypes.ErrTooManyOps)
		_, err = s.Txn(s.ctx).Else(puts(129, 0)...).Commit()
		s.wantErr("129 in else", err, rpctypes.ErrTooManyOps)
		var nested []clientv3.Op
		for i := range 120 {
			nested = append(nested, clientv3.OpTxn(nil, puts(8, 8*i), nil))
		}
		_, err = s.Txn(s.ctx).Then(nested...).Commit()
		s.wantErr("120 of 8", err, nil)
		nested[3] = clientv3.OpTxn(nil, puts(9, 5000), nil)
		_, err = s.Txn(s.ctx).Then(nested...).Commit()
		s.wantErr("120, one of 9", err, rpctypes.ErrTooManyOps)
	}},
	{"a write has 1.5 MiB", func(s *store) {
		_, err := s.Put(s.ctx, s.key("k"), strings.Repeat("x", 3<<19-1000))
		s.wantErr("just below", err, nil)
		_, err = s.Put(s.ctx, s.key("k"), strings.Repeat("x", 3<<19))
		s.wantErr("just above", err, rpctypes.ErrRequestTooLarge)
		half := strings.Repeat("x", 3<<18)
		_, err = s.Txn(s.ctx).Then(clientv3.OpPut(s.key("a"), half), clientv3.OpPut(s.key("b"), half)).Commit()
		s.wantErr("transaction", err, rpctypes.ErrRequestTooLarge)
		large := clientv3.Compare(clientv3.Value(s.key("k")), "=", strings.Repeat("x", 3<<19+1))
		_, err = s.Txn(s.ctx).If(large).Then(clientv3.OpGet(s.key("k"))).Commit()
		s.wantErr("transaction that only reads", err, nil)
	}},
	{"an order that is none", func(s *store) {
		_, err := s.Get(s.ctx, s.key("k"), clientv3.WithSort(clientv3.SortByKey, 9))
		s.wantErr("sort", err, rpctypes.ErrInvalidSortOption)
	}},
}
