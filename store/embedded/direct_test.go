package embedded

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
)

// TestPlainTransactionsPassEtcdsChecks compares the check of direct with etcd's own, on random transactions.
func TestPlainTransactionsPassEtcdsChecks(t *testing.T) {
	t.Parallel()
	s := start(t, solo(t))
	usual := v3rpc.NewKVServer(s.etcd.Server)
	random := rand.New(rand.NewPCG(1, 2))
	check := &plainCheck{seed: maphash.MakeSeed(), written: make(map[uint64]struct{})}
	const maxOps = 8
	plain, refused := 0, 0
	for i := range 1500 {
		in := randomTxn(random, 1+random.IntN(6), 0)
		passes := check.passes(in, MaxTxnOps)
		_, err := usual.Txn(withTimeout(t, 5*time.Second), in)
		switch {
		case passes && err != nil:
			t.Fatalf("transaction %d counts as plain, and etcd refuses it with %v: %v", i, err, in)
		case passes:
			plain++
		case err != nil:
			refused++
		}
		if n := len(in.Success); check.passes(in, n) && n < maxOps && check.passes(in, n-1) {
			t.Fatalf("transaction %d of %d operations counts as plain with a bound of %d", i, n, n-1)
		}
	}
	if plain < 100 || refused < 100 {
		t.Errorf("%d transactions were plain and %d were refused, want many of each", plain, refused)
	}
}

// randomTxn returns a transaction with n operations on few keys, some of them wrong.
func randomTxn(random *rand.Rand, n, depth int) *pb.TxnRequest {
	key := func() []byte {
		if random.IntN(40) == 0 {
			return nil
		}
		return []byte{'a' + byte(random.IntN(26))}
	}
	ops := func(n int) (list []*pb.RequestOp) {
		for range n {
			switch kind := random.IntN(8); {
			case kind < 3:
				list = append(list, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key(), Value: []byte("v")}}})
			case kind < 4:
				list = append(list, &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key()}}})
			case kind < 6:
				r := &pb.DeleteRangeRequest{Key: key()}
				if random.IntN(8) == 0 {
					r.RangeEnd = key()
				}
				list = append(list, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: r}})
			case depth < 2:
				nested := randomTxn(random, random.IntN(3), depth+1)
				list = append(list, &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: nested}})
			}
		}
		return list
	}
	in := &pb.TxnRequest{Success: ops(n), Failure: ops(random.IntN(2))}
	for range random.IntN(3) {
		in.Compare = append(in.Compare, &pb.Compare{Key: key(), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{}})
	}
	return in
}
