package election

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// maxIdle is the number of idle streams in the pool: as many as the leases that one process renews at the same time.
const maxIdle = 4

// ReuseStreams makes the single renewals of a client reuse the streams that they are sent on. Without it each renewal opens a
// stream. A client with a password logs in for each stream, which costs a comparison with bcrypt and a raft proposal, every
// second for every lease.
//
// A stream returns to the pool only after it has answered all that was sent on it. Otherwise the answer to an earlier renewal
// would be taken for that of a later one, and the lease would be trusted for too long. A stream that does not answer in time ends.
// The next renewal uses another stream, which may lead to another endpoint.
func ReuseStreams(client *clientv3.Client) {
	pool := &streamPool{LeaseClient: clientv3.RetryLeaseClient(client)}
	client.Lease = pooledLease{client.Lease, clientv3.NewLeaseFromLeaseClient(pool, client, time.Second)}
}

// pooledLease uses the pool for single renewals only. The client's own keep-alive has a stream of its own, on which it sends
// without waiting for answers.
type pooledLease struct {
	clientv3.Lease
	once clientv3.Lease
}

func (s pooledLease) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return s.once.KeepAliveOnce(ctx, id)
}

func (s pooledLease) Close() error { return errors.Join(s.once.Close(), s.Lease.Close()) }

// streamPool is a lease client that opens a stream for renewals only if none is idle.
type streamPool struct {
	pb.LeaseClient

	mu   sync.Mutex
	idle []*stream // guarded by mu: streams that have answered all that was sent on them
}

type stream struct {
	pb.Lease_LeaseKeepAliveClient
	end context.CancelFunc
}

// LeaseKeepAlive returns a stream for one request and its answer, for one goroutine, until ctx ends.
func (s *streamPool) LeaseKeepAlive(ctx context.Context, opts ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	r := &renewal{pool: s, ctx: ctx, opts: opts}
	if r.stream = s.get(); r.stream != nil {
		r.reused, r.detach = true, context.AfterFunc(ctx, r.stream.end)
		return r, nil
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// get takes the stream that was used last out of the pool. It returns nil if the pool is empty.
func (s *streamPool) get() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	idle := s.idle[last]
	s.idle = s.idle[:last]
	return idle
}

// put returns a stream to the pool, or ends it if the pool is full.
func (s *streamPool) put(answered *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == maxIdle {
		answered.end()
		return
	}
	s.idle = append(s.idle, answered)
}

// renewal is one use of a stream.
type renewal struct {
	*stream
	pool   *streamPool
	ctx    context.Context // of this use
	opts   []grpc.CallOption
	detach func() bool // lets the stream outlive ctx; false: ctx has ended, and the stream ends with it

	reused   bool // the stream is from the pool and may have ended there: its member is gone, or its login has expired
	request  *pb.LeaseKeepAliveRequest
	answered bool
}

// open opens a stream. It ends with ctx unless detach is called before.
func (r *renewal) open() error {
	life, end := context.WithCancel(context.WithoutCancel(r.ctx))
	detach := context.AfterFunc(r.ctx, end)
	opened, err := r.pool.LeaseClient.LeaseKeepAlive(life, r.opts...)
	if err != nil {
		detach()
		end()
		return err
	}
	r.stream, r.detach = &stream{opened, end}, detach
	return nil
}

func (r *renewal) Send(req *pb.LeaseKeepAliveRequest) error {
	r.request, r.answered = req, false
	err := r.stream.Send(req)
	if err != nil && r.reused {
		err = r.resend()
	}
	return err
}

func (r *renewal) Recv() (*pb.LeaseKeepAliveResponse, error) {
	resp, err := r.stream.Recv()
	if err != nil && r.reused && r.ctx.Err() == nil {
		if err = r.resend(); err == nil {
			resp, err = r.stream.Recv()
		}
	}
	r.answered = err == nil
	return resp, err
}

// resend replaces a stream that ended while it was idle, and sends the request again.
func (r *renewal) resend() error {
	r.reused = false
	r.detach()
	r.stream.end()
	if err := r.open(); err != nil {
		return err
	}
	return r.stream.Send(r.request)
}

// CloseSend ends the use of the stream.
func (r *renewal) CloseSend() error {
	if r.detach() && r.answered {
		r.pool.put(r.stream)
	} else {
		r.stream.end()
	}
	return nil
}
