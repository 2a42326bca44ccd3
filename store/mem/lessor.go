package mem

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lessor is the lease part of a client.
type lessor struct {
	clientv3.Lease
	service leaseClient
}

// Service returns the lease service, for callers that build etcd's messages
// themselves.
func (l lessor) Service() pb.LeaseClient { return l.service }

// leaseClient implements the lease service on a link.
type leaseClient struct{ l *link }

func (c leaseClient) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest, _ ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	return call(ctx, c.l, Op{Kind: Grant, Request: r}, func() (*pb.LeaseGrantResponse, error) { return c.l.srv.grant(r) })
}

func (c leaseClient) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest, _ ...grpc.CallOption) (*pb.LeaseRevokeResponse, error) {
	return call(ctx, c.l, Op{Kind: Revoke, Request: r}, func() (*pb.LeaseRevokeResponse, error) { return c.l.srv.revoke(r) })
}

func (c leaseClient) LeaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest, _ ...grpc.CallOption) (*pb.LeaseTimeToLiveResponse, error) {
	return call(ctx, c.l, Op{Kind: TimeToLive, Request: r}, func() (*pb.LeaseTimeToLiveResponse, error) { return c.l.srv.timeToLive(r) })
}

func (c leaseClient) LeaseLeases(ctx context.Context, r *pb.LeaseLeasesRequest, _ ...grpc.CallOption) (*pb.LeaseLeasesResponse, error) {
	return call(ctx, c.l, Op{Kind: Leases, Request: r}, func() (*pb.LeaseLeasesResponse, error) { return c.l.srv.listLeases() })
}

func (c leaseClient) LeaseKeepAlive(ctx context.Context, _ ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	return &keepAliveStream{ctx: ctx, l: c.l, wake: make(chan struct{}, 1)}, nil
}

// keepAliveStream carries renewals. Send only queues a request and Recv does
// the work, so the stream needs no goroutine. While a client is cut off, its
// renewals wait; they arrive after Heal, as over TCP.
type keepAliveStream struct {
	grpc.ClientStream // nil: the client calls none of its other methods
	ctx               context.Context
	l                 *link
	wake              chan struct{} // one slot; holds a token if the queue has changed

	mu     sync.Mutex
	queue  []*pb.LeaseKeepAliveRequest
	closed bool
}

func (k *keepAliveStream) Context() context.Context { return k.ctx }

func (k *keepAliveStream) Send(r *pb.LeaseKeepAliveRequest) error {
	k.push(r)
	return k.l.alive(k.ctx)
}

func (k *keepAliveStream) CloseSend() error {
	k.push(nil)
	return nil
}

// push queues a request; nil means the end of the stream.
func (k *keepAliveStream) push(r *pb.LeaseKeepAliveRequest) {
	k.mu.Lock()
	if r == nil {
		k.closed = true
	} else {
		k.queue = append(k.queue, r)
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *keepAliveStream) pop() (r *pb.LeaseKeepAliveRequest, closed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) > 0 {
		r, k.queue = k.queue[0], k.queue[1:]
	}
	return r, k.closed
}

func (k *keepAliveStream) Recv() (*pb.LeaseKeepAliveResponse, error) {
	for {
		r, closed := k.pop()
		switch {
		case r != nil:
			return k.renew(r)
		case closed:
			return nil, io.EOF
		}
		if err := wait(k.ctx, k.l, k.wake); err != nil {
			return nil, err
		}
	}
}

func (k *keepAliveStream) renew(r *pb.LeaseKeepAliveRequest) (*pb.LeaseKeepAliveResponse, error) {
	op := Op{Kind: KeepAlive, Request: r}
	resp, err := call(k.ctx, k.l, op, func() (*pb.LeaseKeepAliveResponse, error) { return k.l.srv.renew(k.ctx, k.l, r.ID) })
	if err != nil {
		// KeepAliveOnce tries again at once until its context ends. Without
		// this pause, the clock of a bubble would stand still.
		if err := k.l.sleep(k.ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	return resp, err
}

func (s *Server) grant(r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	switch {
	case s.noSpace:
		return nil, rpctypes.ErrGRPCNoSpace
	case r.TTL > maxLeaseTTL:
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	case s.data.leases.byID[r.ID] != nil:
		return nil, rpctypes.ErrGRPCLeaseExist
	}
	l := s.data.leases.add(r.ID, max(r.TTL, s.cfg.MinLeaseTTL))
	l.refresh(time.Now(), 0)
	s.schedule(l.expiry)
	return &pb.LeaseGrantResponse{Header: s.header(nil), ID: l.id, TTL: l.ttl}, nil
}

func (s *Server) revoke(r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.data.leases.byID[r.ID]
	if l == nil {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	s.drop(l)
	return &pb.LeaseRevokeResponse{Header: s.header(nil)}, nil
}

// drop revokes a lease. The caller holds mu.
func (s *Server) drop(l *lease) {
	w := &write{data: s.data}
	w.revoke(l)
	s.commit(w)
}

// renew extends a lease. If the lease has expired, the answer comes after its
// revocation.
func (s *Server) renew(ctx context.Context, k *link, id int64) (*pb.LeaseKeepAliveResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	resp := &pb.LeaseKeepAliveResponse{Header: s.header(nil), ID: id}
	l := s.data.leases.byID[id]
	if now := time.Now(); l != nil && !l.expired(now) {
		l.refresh(now, 0)
		resp.TTL = l.ttl
		l = nil
	}
	s.mu.Unlock()
	if l != nil {
		if err := wait(ctx, k, l.revoked); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

func (s *Server) timeToLive(r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	resp := &pb.LeaseTimeToLiveResponse{Header: s.header(nil), ID: r.ID, TTL: -1}
	l := s.data.leases.byID[r.ID]
	if l == nil {
		return resp, nil
	}
	resp.TTL, resp.GrantedTTL = int64(time.Until(l.expiry).Seconds()), l.ttl
	if r.Keys {
		for k := range l.keys {
			resp.Keys = append(resp.Keys, []byte(k))
		}
	}
	return resp, nil
}

func (s *Server) listLeases() (*pb.LeaseLeasesResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	resp := &pb.LeaseLeasesResponse{Header: s.header(nil)}
	for _, l := range s.data.leases.byExpiry() {
		resp.Leases = append(resp.Leases, &pb.LeaseStatus{ID: l.id})
	}
	return resp, nil
}
