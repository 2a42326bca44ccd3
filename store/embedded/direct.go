package embedded

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// direct passes plain transactions to the member in this process without etcd's check for overlapping keys. For that
// check, etcd builds an interval tree for each nested transaction. The trees take a sixth of all memory that a transaction
// allocates. A plain transaction passes the check in any case: see plainCheck. etcd's usual service gets all other requests, and
// refuses wrong ones.
type direct struct {
	pb.KVClient
	server *etcdserver.EtcdServer
	quota  storage.Quota
	maxOps int
	checks sync.Pool // of *plainCheck
}

func newDirect(usual pb.KVClient, s *etcdserver.EtcdServer) *direct {
	return &direct{
		KVClient: usual, server: s, maxOps: int(s.Cfg.MaxTxnOps),
		quota: storage.NewBackendQuota(s.Logger(), s.Cfg.QuotaBackendBytes, s.Backend(), "kv"),
	}
}

func (d *direct) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	check, _ := d.checks.Get().(*plainCheck)
	if check == nil {
		check = &plainCheck{seed: maphash.MakeSeed(), written: make(map[uint64]struct{})}
	}
	plain := check.passes(in, d.maxOps)
	d.checks.Put(check)
	if !plain || !d.quota.Available(in) {
		return d.KVClient.Txn(ctx, in, opts...)
	}
	resp, err := d.server.Txn(ctx, in)
	if err != nil {
		return nil, rpcError(err)
	}
	h := resp.Header
	h.ClusterId, h.MemberId, h.RaftTerm = uint64(d.server.Cluster().ID()), uint64(d.server.MemberID()), d.server.Term()
	if h.Revision == 0 {
		h.Revision = d.server.KV().Rev()
	}
	return resp, nil
}

// plainCheck recognizes transactions that etcd's checks accept: nested at most once, without ranges that are written, each key
// written at most once, and within the bound of operations. It is not safe for concurrent use.
type plainCheck struct {
	seed    maphash.Seed
	written map[uint64]struct{} // hashes of the keys that the transaction writes
}

// passes reports whether the transaction is plain. Two keys with the same hash make it false.
func (c *plainCheck) passes(in *pb.TxnRequest, maxOps int) bool {
	clear(c.written)
	left := maxOps - max(len(in.Compare), len(in.Success), len(in.Failure))
	return left >= 0 && comparesPlainly(in.Compare) && c.plain(in.Success, left, true) && c.plain(in.Failure, left, true)
}

func comparesPlainly(guards []*pb.Compare) bool {
	for _, guard := range guards {
		if len(guard.Key) == 0 {
			return false
		}
	}
	return true
}

// plain reports whether operations are plain. left is the bound of operations of a nested transaction. If mayNest is false, there
// must be none.
func (c *plainCheck) plain(ops []*pb.RequestOp, left int, mayNest bool) bool {
	for _, op := range ops {
		ok := false
		switch r := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			ok = len(r.RequestRange.GetKey()) > 0 && r.RequestRange.SortOrder == 0 && r.RequestRange.SortTarget == 0
		case *pb.RequestOp_RequestPut:
			ok = c.writes(r.RequestPut.GetKey()) && !r.RequestPut.IgnoreValue && !r.RequestPut.IgnoreLease
		case *pb.RequestOp_RequestDeleteRange:
			ok = c.writes(r.RequestDeleteRange.GetKey()) && len(r.RequestDeleteRange.RangeEnd) == 0
		case *pb.RequestOp_RequestTxn:
			t := r.RequestTxn
			ok = mayNest && t != nil && max(len(t.Compare), len(t.Success), len(t.Failure)) <= left &&
				comparesPlainly(t.Compare) && c.plain(t.Success, 0, false) && c.plain(t.Failure, 0, false)
		}
		if !ok {
			return false
		}
	}
	return true
}

// writes records that the transaction writes key. It returns false if the key is empty, or is written already.
func (c *plainCheck) writes(key []byte) bool {
	hash := maphash.Bytes(c.seed, key)
	_, twice := c.written[hash]
	c.written[hash] = struct{}{}
	return len(key) > 0 && !twice
}

// rpcErrors are the errors of a member and those by which its usual service replaces them.
var rpcErrors = map[error]error{
	mvcc.ErrCompacted:                        rpctypes.ErrGRPCCompacted,
	mvcc.ErrFutureRev:                        rpctypes.ErrGRPCFutureRev,
	lease.ErrLeaseNotFound:                   rpctypes.ErrGRPCLeaseNotFound,
	etcderrors.ErrRequestTooLarge:            rpctypes.ErrGRPCRequestTooLarge,
	etcderrors.ErrNoSpace:                    rpctypes.ErrGRPCNoSpace,
	etcderrors.ErrTooManyRequests:            rpctypes.ErrTooManyRequests,
	etcderrors.ErrNoLeader:                   rpctypes.ErrGRPCNoLeader,
	etcderrors.ErrNotLeader:                  rpctypes.ErrGRPCNotLeader,
	etcderrors.ErrLeaderChanged:              rpctypes.ErrGRPCLeaderChanged,
	etcderrors.ErrCanceled:                   rpctypes.ErrGRPCCanceled,
	etcderrors.ErrStopped:                    rpctypes.ErrGRPCStopped,
	etcderrors.ErrTimeout:                    rpctypes.ErrGRPCTimeout,
	etcderrors.ErrTimeoutDueToLeaderFail:     rpctypes.ErrGRPCTimeoutDueToLeaderFail,
	etcderrors.ErrTimeoutDueToConnectionLost: rpctypes.ErrGRPCTimeoutDueToConnectionLost,
	etcderrors.ErrTimeoutWaitAppliedIndex:    rpctypes.ErrGRPCTimeoutWaitAppliedIndex,
	etcderrors.ErrUnhealthy:                  rpctypes.ErrGRPCUnhealthy,
	etcderrors.ErrKeyNotFound:                rpctypes.ErrGRPCKeyNotFound,
	etcderrors.ErrCorrupt:                    rpctypes.ErrGRPCCorrupt,
	auth.ErrUserEmpty:                        rpctypes.ErrGRPCUserEmpty,
	auth.ErrUserNotFound:                     rpctypes.ErrGRPCUserNotFound,
	auth.ErrPermissionDenied:                 rpctypes.ErrGRPCPermissionDenied,
	auth.ErrInvalidAuthToken:                 rpctypes.ErrGRPCInvalidAuthToken,
	auth.ErrAuthOldRevision:                  rpctypes.ErrGRPCAuthOldRevision,
}

// rpcError returns the error that the usual service would return.
func rpcError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if replaced, known := rpcErrors[err]; known {
		return replaced
	}
	return status.Error(codes.Unknown, err.Error())
}
