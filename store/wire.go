package store

import (
	"context"
	"math"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// Transactions are made of etcd's messages, and sent by the service behind the client: clientv3 copies every guard three
// times on its way, by reflection, which at thousands of writes a second takes more time than etcd takes to apply them.

// callOptions are those of clientv3: a large request is for etcd to refuse.
var callOptions = []grpc.CallOption{grpc.WaitForReady(true), grpc.MaxCallSendMsgSize(2 << 20), grpc.MaxCallRecvMsgSize(math.MaxInt32)}

// service is what c sends its requests to. A client that is not on the network says what that is.
func service(c *clientv3.Client) pb.KVClient {
	if in, ok := c.KV.(interface{ Service() pb.KVClient }); ok {
		return in.Service()
	}
	return clientv3.RetryKVClient(c)
}

// txn sends one transaction, with the errors of clientv3, and takes note of what an answer tells of etcd.
func (s *Store) txn(ctx context.Context, guards []*pb.Compare, then []*pb.RequestOp) (*pb.TxnResponse, error) {
	resp, err := s.kv.Txn(ctx, &pb.TxnRequest{Compare: guards, Success: then}, callOptions...)
	if err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	s.hear()
	s.hurry.led(resp.Header.RaftTerm)
	s.count.reached.note(resp.Header.ClusterId, resp.Header.Revision)
	return resp, nil
}

// revisionOf asks at which revision a key was written, zero if it is not there, until etcd answers or ctx ends.
func (s *Store) revisionOf(ctx context.Context, key string) (rev int64, err error) {
	err = untilDefinite(ctx, false, &s.hurry, func(ctx context.Context) error {
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

// absent and unchanged are the guards of a record that is created and of one that is replaced.
func absent(key string) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_CREATE, TargetUnion: &pb.Compare_CreateRevision{}}
}

func unchanged(key string, rev int64) *pb.Compare {
	if rev == 0 {
		return absent(key)
	}
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: rev}}
}

// notSince is the guard that nothing was put at key after revision rev and is still there.
func notSince(key string, rev int64) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_MOD, Result: pb.Compare_LESS, TargetUnion: &pb.Compare_ModRevision{ModRevision: rev + 1},
	}
}

// exists is the guard that there is a record at key, whichever.
func exists(key string) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_CREATE, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_CreateRevision{},
	}
}

// putOp and its like are operations, each in one piece of memory.
func putOp(key string, value []byte, lease clientv3.LeaseID) *pb.RequestOp {
	op := &struct {
		op pb.RequestOp
		of pb.RequestOp_RequestPut
		r  pb.PutRequest
	}{}
	op.r.Key, op.r.Value, op.r.Lease = []byte(key), value, int64(lease)
	op.of.RequestPut, op.op.Request = &op.r, &op.of
	return &op.op
}

func deleteOp(key string) *pb.RequestOp {
	r := &pb.DeleteRangeRequest{Key: []byte(key)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: r}}
}

func getOp(key string) *pb.RequestOp {
	r := &pb.RangeRequest{Key: []byte(key)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
}

func txnOp(guards []*pb.Compare, then []*pb.RequestOp) *pb.RequestOp {
	op := &struct {
		op pb.RequestOp
		of pb.RequestOp_RequestTxn
		r  pb.TxnRequest
	}{}
	op.r.Compare, op.r.Success = guards, then
	op.of.RequestTxn, op.op.Request = &op.r, &op.of
	return &op.op
}
