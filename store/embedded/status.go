package embedded

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// maintenance is the maintenance part of the in-process client. It refuses to ask a member for its status after the cluster has
// removed the member: etcd would panic, and end the process before its attempts have ended.
type maintenance struct {
	clientv3.Maintenance
	server *Server
}

func (m maintenance) Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	call := func(ctx context.Context, endpoint string, _ ...grpc.CallOption) (*clientv3.StatusResponse, error) {
		if m.server.isRemoved() {
			return nil, rpctypes.ErrStopped
		}
		return m.Maintenance.Status(ctx, endpoint)
	}
	return guarded(ctx, m.server.guard, endpoint, nil, call)
}

// refuseStatus is maintenance for clients of other processes.
func (s *Server) refuseStatus(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if info.FullMethod == pb.Maintenance_Status_FullMethodName && (s.isRemoved() || s.isStopping()) {
		return nil, rpctypes.ErrGRPCStopped
	}
	return next(ctx, req)
}

// isRemoved reports whether the cluster has removed this member. It returns false until etcd has started.
func (s *Server) isRemoved() bool {
	e := s.running.Load()
	return e != nil && !e.IsMemberExist(e.MemberID())
}

// isStopping reports whether etcd ends. A member may learn from the others that it was removed before its own data says so. It then
// ends, and still takes calls of other processes after its database is closed.
func (s *Server) isStopping() bool {
	e := s.running.Load()
	if e == nil {
		return false
	}
	select {
	case <-e.StoppingNotify():
		return true
	default:
		return false
	}
}
