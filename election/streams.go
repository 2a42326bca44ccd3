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

// maxIdle is how many streams are kept: as many as the leases of a process that may be renewed at the same time.
const maxIdle = 4

// ReuseStreams has the single renewals of a client that logs in share the streams that they are sent on. Without it each
// renewal opens one, and the client logs in for each stream: a comparison with bcrypt and a proposal to raft, every second,
// for every lease that there is.
//
// A stream is kept when it has answered all that was sent on it, and only then: an answer that came to an earlier renewal would
// be taken for that of a later one, and the lease be trusted for too long. So one that is not answered in time ends, and the
// next renewal is sent on another, which may lead to another endpoint, as without.
func ReuseStreams(client *clientv3.Client) {
	shared := &streams{LeaseClient: clientv3.RetryLeaseClient(client)}
	client.Lease = sparing{client.Lease, clientv3.NewLeaseFromLeaseClient(shared, client, time.Second)}
}

// sparing shares streams for single renewals, and for nothing else: what is kept alive by the client itself has one of its own,
// on which it sends whether it is answered or not.
type sparing struct {
	clientv3.Lease
	once clientv3.Lease
}

func (s sparing) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return s.once.KeepAliveOnce(ctx, id)
}

func (s sparing) Close() error { return errors.Join(s.once.Close(), s.Lease.Close()) }

// streams is an etcd whose streams of renewals are used more than once.
type streams struct {
	pb.LeaseClient

	mu   sync.Mutex
	idle []*stream // guarded by mu: they have answered all that was sent on them
}

type stream struct {
	pb.Lease_LeaseKeepAliveClient
	end context.CancelFunc
}

// LeaseKeepAlive is for one request and its answer, by one goroutine, and for as long as ctx.
func (s *streams) LeaseKeepAlive(ctx context.Context, opts ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	r := &renewal{streams: s, ctx: ctx, opts: opts}
	if r.stream = s.take(); r.stream != nil {
		r.kept, r.stop = true, context.AfterFunc(ctx, r.stream.end)
		return r, nil
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// take returns the stream that was used last, nil if there is none.
func (s *streams) take() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	kept := s.idle[last]
	s.idle = s.idle[:last]
	return kept
}

func (s *streams) keep(answered *stream) {
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
	streams *streams
	ctx     context.Context // of this use
	opts    []grpc.CallOption
	stop    func() bool // has the stream outlive ctx; false: it does not

	kept     bool // the stream was used before, and may have ended since: its member is gone, or its login is too old
	asked    *pb.LeaseKeepAliveRequest
	answered bool
}

// open begins a stream, which ends with ctx unless it is kept.
func (r *renewal) open() error {
	life, end := context.WithCancel(context.WithoutCancel(r.ctx))
	stop := context.AfterFunc(r.ctx, end)
	opened, err := r.streams.LeaseClient.LeaseKeepAlive(life, r.opts...)
	if err != nil {
		stop()
		end()
		return err
	}
	r.stream, r.stop = &stream{opened, end}, stop
	return nil
}

func (r *renewal) Send(req *pb.LeaseKeepAliveRequest) error {
	r.asked, r.answered = req, false
	err := r.stream.Send(req)
	if err != nil && r.kept {
		err = r.sendAnew()
	}
	return err
}

func (r *renewal) Recv() (*pb.LeaseKeepAliveResponse, error) {
	resp, err := r.stream.Recv()
	if err != nil && r.kept && r.ctx.Err() == nil {
		if err = r.sendAnew(); err == nil {
			resp, err = r.stream.Recv()
		}
	}
	r.answered = err == nil
	return resp, err
}

// sendAnew puts a new stream in the place of one that has ended while it was kept.
func (r *renewal) sendAnew() error {
	r.kept = false
	r.stop()
	r.stream.end()
	if err := r.open(); err != nil {
		return err
	}
	return r.stream.Send(r.asked)
}

// CloseSend ends the use.
func (r *renewal) CloseSend() error {
	if r.stop() && r.answered {
		r.streams.keep(r.stream)
	} else {
		r.stream.end()
	}
	return nil
}
