package store

import (
	"context"
	"math"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// The store builds transactions from etcd's messages and sends them by the service behind the client. clientv3 copies
// every guard three times by reflection. At thousands of writes per second, that takes longer than etcd takes to apply
// them.

// callOptions are the options that clientv3 uses. They let large requests pass, so that etcd itself refuses them.
var callOptions = []grpc.CallOption{
	grpc.WaitForReady(true), grpc.MaxCallSendMsgSize(2 << 20), grpc.MaxCallRecvMsgSize(math.MaxInt32),
}

// service returns the key-value service to which c sends its requests. A client without a network has a method for
// this.
func service(c *clientv3.Client) pb.KVClient {
	if in, ok := c.KV.(interface{ Service() pb.KVClient }); ok {
		return in.Service()
	}
	return clientv3.RetryKVClient(c)
}

// txn sends one transaction and returns errors as clientv3 does. It records the contact, term and revision of an answer.
func (s *Store) txn(ctx context.Context, guards []*pb.Compare, then []*pb.RequestOp) (*pb.TxnResponse, error) {
	return s.txnElse(ctx, guards, then, nil)
}

// txnElse is txn with operations for the case that a guard fails.
func (s *Store) txnElse(ctx context.Context, guards []*pb.Compare, then, otherwise []*pb.RequestOp) (*pb.TxnResponse, error) {
	sent := s.count.reached.mark()
	resp, err := s.kv.Txn(ctx, &pb.TxnRequest{Compare: guards, Success: then, Failure: otherwise}, callOptions...)
	if err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	s.recordContact()
	s.tries.observeTerm(resp.Header.RaftTerm)
	s.count.reached.answered(resp.Header, sent)
	return resp, nil
}

// revisionOf returns the revision at which a key was written, zero if it does not exist. It asks until etcd answers or ctx ends.
func (s *Store) revisionOf(ctx context.Context, key string) (rev int64, err error) {
	err = untilDefinite(ctx, false, &s.tries, func(ctx context.Context) error {
		resp, err := s.txn(ctx, nil, []*pb.RequestOp{getOp(key)})
		if err == nil {
			for _, kv := range resp.Responses[0].GetResponseRange().GetKvs() {
				rev = kv.ModRevision
			}
		}
		return err
	}, func() {})
	return rev, err
}

// absent is the guard that there is no record at key.
func absent(key string) *pb.Compare { return unchanged(key, 0) }

// unchanged is the guard that the record at key is at revision rev; zero: that there is none.
func unchanged(key string, rev int64) *pb.Compare { return unchangedKey([]byte(key), rev) }

// unchangedKey is unchanged. It allocates once.
func unchangedKey(key []byte, rev int64) *pb.Compare { return new(guardRoom).unchanged(key, rev) }

// guardRoom is the memory of one guard.
type guardRoom struct {
	c      pb.Compare
	mod    pb.Compare_ModRevision
	create pb.Compare_CreateRevision
}

// unchanged returns the guard that the record at key is at revision rev; zero: that there is none. m must be unused.
func (m *guardRoom) unchanged(key []byte, rev int64) *pb.Compare {
	m.c.Key, m.mod.ModRevision = key, rev
	if m.c.Target, m.c.TargetUnion = pb.Compare_MOD, &m.mod; rev == 0 {
		m.c.Target, m.c.TargetUnion = pb.Compare_CREATE, &m.create
	}
	return &m.c
}

// notSince is the guard that key holds no record that was put after revision rev.
func notSince(key string, rev int64) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_LESS, TargetUnion: &pb.Compare_ModRevision{ModRevision: rev + 1},
	}
}

// exists is the guard that there is any record at key.
func exists(key string) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_CREATE, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_CreateRevision{},
	}
}

// putOp, deleteOp, getOp and txnOp return operations. putKeyOp, deleteOp and txnOp allocate once.
func putOp(key string, value []byte, lease clientv3.LeaseID) *pb.RequestOp {
	return putKeyOp([]byte(key), value, lease)
}

func putKeyOp(key, value []byte, lease clientv3.LeaseID) *pb.RequestOp {
	return new(putRoom).op(key, value, lease)
}

// putRoom is the memory of the operation that puts one record.
type putRoom struct {
	of pb.RequestOp
	is pb.RequestOp_RequestPut
	r  pb.PutRequest
}

// op returns the operation. m must be unused.
func (m *putRoom) op(key, value []byte, lease clientv3.LeaseID) *pb.RequestOp {
	m.r.Key, m.r.Value, m.r.Lease = key, value, int64(lease)
	m.is.RequestPut, m.of.Request = &m.r, &m.is
	return &m.of
}

func deleteOp(key []byte) *pb.RequestOp {
	op := &struct {
		op pb.RequestOp
		of pb.RequestOp_RequestDeleteRange
		r  pb.DeleteRangeRequest
	}{}
	op.r.Key = key
	op.of.RequestDeleteRange, op.op.Request = &op.r, &op.of
	return &op.op
}

func getOp(key string) *pb.RequestOp {
	r := &pb.RangeRequest{Key: []byte(key)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
}

func txnOp(guards []*pb.Compare, then []*pb.RequestOp) *pb.RequestOp {
	return new(txnRoom).op(guards, then)
}

// txnRoom is the memory of a nested transaction.
type txnRoom struct {
	of pb.RequestOp
	is pb.RequestOp_RequestTxn
	r  pb.TxnRequest
}

// op returns the transaction as an operation. m must be unused.
func (m *txnRoom) op(guards []*pb.Compare, then []*pb.RequestOp) *pb.RequestOp {
	m.r.Compare, m.r.Success = guards, then
	m.is.RequestTxn, m.of.Request = &m.r, &m.is
	return &m.of
}

// used reports whether op was called.
func (m *txnRoom) used() bool { return m.of.Request != nil }
