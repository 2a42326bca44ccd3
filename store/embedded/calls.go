package embedded

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// callGuard treats the key-value calls of the in-process client as the gRPC
// server treats remote calls. No call is active when the database closes, and
// later calls fail. (Without it, a serializable read of a closed member
// succeeds from memory.) A call with clientv3.WithRequireLeader fails at once
// while there is no leader.
type callGuard struct {
	pb.KVClient
	hasLeader func() bool

	ctx    context.Context // ends when active calls must give up
	cancel context.CancelFunc
	calls  sync.WaitGroup

	mu     sync.RWMutex
	closed bool // guarded by mu; new calls are rejected
}

func newCallGuard(next pb.KVClient, hasLeader func() bool) *callGuard {
	ctx, cancel := context.WithCancel(context.Background())
	return &callGuard{KVClient: next, hasLeader: hasLeader, ctx: ctx, cancel: cancel}
}

// close rejects new calls, lets active calls finish within the grace period,
// cancels the rest and waits for them.
func (g *callGuard) close(grace time.Duration) {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()

	t := time.AfterFunc(grace, g.cancel)
	g.calls.Wait()
	t.Stop()
	g.cancel()
}

// guarded runs call as an active call of the guard.
func guarded[Req, Resp any](ctx context.Context, g *callGuard, in Req, opts []grpc.CallOption,
	call func(context.Context, Req, ...grpc.CallOption) (Resp, error),
) (Resp, error) {
	var none Resp
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return none, rpctypes.ErrGRPCStopped
	}
	g.calls.Add(1)
	g.mu.RUnlock()
	defer g.calls.Done()

	md, _ := metadata.FromOutgoingContext(ctx)
	if v := md.Get(rpctypes.MetadataRequireLeaderKey); len(v) > 0 && v[0] == rpctypes.MetadataHasLeader && !g.hasLeader() {
		return none, rpctypes.ErrGRPCNoLeader
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return call(ctx, in, opts...)
}

func (g *callGuard) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return guarded(ctx, g, in, opts, g.KVClient.Range)
}

func (g *callGuard) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	return guarded(ctx, g, in, opts, g.KVClient.Put)
}

func (g *callGuard) DeleteRange(
	ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption,
) (*pb.DeleteRangeResponse, error) {
	return guarded(ctx, g, in, opts, g.KVClient.DeleteRange)
}

func (g *callGuard) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	return guarded(ctx, g, in, opts, g.KVClient.Txn)
}

func (g *callGuard) Compact(
	ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption,
) (*pb.CompactionResponse, error) {
	return guarded(ctx, g, in, opts, g.KVClient.Compact)
}

// kv is the key-value part of the in-process client.
type kv struct {
	clientv3.KV
	guard *callGuard
}

// Service returns the server, for callers that build etcd's messages themselves.
func (k kv) Service() pb.KVClient { return k.guard }

// leases is the lease part of the in-process client.
type leases struct {
	clientv3.Lease
	service pb.LeaseClient
}

// Service returns the server, for callers that build etcd's messages themselves.
func (l leases) Service() pb.LeaseClient { return l.service }
