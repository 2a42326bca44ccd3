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

// gate stands before the key-value calls of the in-process client and gives
// them what the gRPC server gives remote ones: none is inside when the
// database closes, and none is answered afterwards (without it a serializable
// read of a closed member succeeds, from memory), and a call made with
// clientv3.WithRequireLeader fails at once while there is no leader.
type gate struct {
	pb.KVClient
	hasLeader func() bool

	ctx    context.Context // ends when calls inside must give up
	cancel context.CancelFunc
	calls  sync.WaitGroup

	mu   sync.RWMutex
	shut bool // guarded by mu; no call enters any more
}

func newGate(next pb.KVClient, hasLeader func() bool) *gate {
	ctx, cancel := context.WithCancel(context.Background())
	return &gate{KVClient: next, hasLeader: hasLeader, ctx: ctx, cancel: cancel}
}

// close refuses new calls, gives those inside the grace to finish, cancels the
// rest and waits for them.
func (g *gate) close(grace time.Duration) {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()

	t := time.AfterFunc(grace, g.cancel)
	g.calls.Wait()
	t.Stop()
	g.cancel()
}

// pass runs call inside the gate.
func pass[Req, Resp any](ctx context.Context, g *gate, in Req, opts []grpc.CallOption,
	call func(context.Context, Req, ...grpc.CallOption) (Resp, error),
) (Resp, error) {
	var none Resp
	g.mu.RLock()
	if g.shut {
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

func (g *gate) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return pass(ctx, g, in, opts, g.KVClient.Range)
}

func (g *gate) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	return pass(ctx, g, in, opts, g.KVClient.Put)
}

func (g *gate) DeleteRange(ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	return pass(ctx, g, in, opts, g.KVClient.DeleteRange)
}

func (g *gate) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	return pass(ctx, g, in, opts, g.KVClient.Txn)
}

func (g *gate) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return pass(ctx, g, in, opts, g.KVClient.Compact)
}

// kv is the key-value part of the in-process client.
type kv struct {
	clientv3.KV
	gate *gate
}

// Service is what requests are sent to, for those who make etcd's messages themselves.
func (k kv) Service() pb.KVClient { return k.gate }
