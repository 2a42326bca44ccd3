package mem

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/api/v3/version"
)

// noConn is a connection to a server without methods. It serves the calls of
// services that mem does not have.
type noConn struct{}

func (noConn) Invoke(_ context.Context, method string, _, _ any, _ ...grpc.CallOption) error {
	return status.Errorf(codes.Unimplemented, "mem: %s is not there", method)
}

func (noConn) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "mem: %s is not there", method)
}

// maintenanceClient implements a part of the maintenance service on a link:
// status and alarms.
type maintenanceClient struct {
	pb.MaintenanceClient // refuses the other methods
	l                    *link
}

func (c maintenanceClient) Status(ctx context.Context, r *pb.StatusRequest, _ ...grpc.CallOption) (*pb.StatusResponse, error) {
	return call(ctx, c.l, Op{Kind: Maintenance, Request: r}, c.l.srv.status)
}

func (c maintenanceClient) Alarm(ctx context.Context, r *pb.AlarmRequest, _ ...grpc.CallOption) (*pb.AlarmResponse, error) {
	return call(ctx, c.l, Op{Kind: Maintenance, Request: r}, func() (*pb.AlarmResponse, error) { return c.l.srv.alarm(r) })
}

// clusterClient implements a part of the cluster service on a link: a list of
// one member.
type clusterClient struct {
	pb.ClusterClient // refuses the other methods
	l                *link
}

func (c clusterClient) MemberList(ctx context.Context, r *pb.MemberListRequest, _ ...grpc.CallOption) (*pb.MemberListResponse, error) {
	return call(ctx, c.l, Op{Kind: Maintenance, Request: r}, func() (*pb.MemberListResponse, error) {
		s := c.l.srv
		if err := s.lock(); err != nil {
			return nil, err
		}
		defer s.mu.Unlock()
		return &pb.MemberListResponse{
			Header:  &pb.ResponseHeader{ClusterId: clusterID, MemberId: memberID, RaftTerm: s.term},
			Members: []*pb.Member{{ID: memberID, Name: "mem"}},
		}, nil
	})
}

func (s *Server) status() (*pb.StatusResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	resp := &pb.StatusResponse{
		Header:   s.header(nil),
		Version:  etcd.Version,
		Leader:   memberID,
		RaftTerm: s.term,
	}
	if s.noSpace {
		resp.Errors = []string{s.nospaceAlarm().String()}
	}
	return resp, nil
}

func (s *Server) nospaceAlarm() *pb.AlarmMember {
	return &pb.AlarmMember{MemberID: memberID, Alarm: pb.AlarmType_NOSPACE}
}

func (s *Server) alarm(r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	resp := &pb.AlarmResponse{Header: s.header(nil)}
	ours := r.Alarm == pb.AlarmType_NONE || r.Alarm == pb.AlarmType_NOSPACE
	was := s.noSpace
	switch {
	case r.Action == pb.AlarmRequest_ACTIVATE && r.Alarm == pb.AlarmType_NOSPACE:
		s.noSpace, was = true, true
	case r.Action == pb.AlarmRequest_DEACTIVATE && r.Alarm == pb.AlarmType_NOSPACE:
		s.noSpace = false
	}
	if was && ours {
		resp.Alarms = []*pb.AlarmMember{s.nospaceAlarm()}
	}
	return resp, nil
}
