package mem

import (
	"context"

	"google.golang.org/grpc"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// kv is the key-value part of a client.
type kv struct {
	clientv3.KV
	service kvClient
}

// Service returns the key-value service, for callers that build etcd's messages
// themselves.
func (k kv) Service() pb.KVClient { return k.service }

// kvClient implements the key-value service on a link.
type kvClient struct {
	pb.KVClient // refuses the other method: streamed ranges
	l           *link
}

func (c kvClient) Range(ctx context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	return call(ctx, c.l, Op{Kind: Range, Request: r}, func() (*pb.RangeResponse, error) { return c.l.srv.rangeKeys(r) })
}

func (c kvClient) Put(ctx context.Context, r *pb.PutRequest, _ ...grpc.CallOption) (*pb.PutResponse, error) {
	return call(ctx, c.l, Op{Kind: Put, Request: r}, func() (*pb.PutResponse, error) { return c.l.srv.put(r) })
}

func (c kvClient) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest, _ ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	return call(ctx, c.l, Op{Kind: Delete, Request: r}, func() (*pb.DeleteRangeResponse, error) { return c.l.srv.deleteRange(r) })
}

func (c kvClient) Txn(ctx context.Context, r *pb.TxnRequest, _ ...grpc.CallOption) (*pb.TxnResponse, error) {
	return call(ctx, c.l, Op{Kind: Txn, Request: r}, func() (*pb.TxnResponse, error) { return c.l.srv.txn(r) })
}

func (c kvClient) Compact(ctx context.Context, r *pb.CompactionRequest, _ ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return call(ctx, c.l, Op{Kind: Compact, Request: r}, func() (*pb.CompactionResponse, error) { return c.l.srv.compact(r) })
}

func (s *Server) rangeKeys(r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := checkRange(r); err != nil {
		return nil, err
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	resp, err := s.data.readRange(r, s.data.rev)
	if err != nil {
		return nil, err
	}
	s.header(resp.Header)
	return resp, nil
}

func (s *Server) put(r *pb.PutRequest) (*pb.PutResponse, error) {
	if err := checkPut(r); err != nil {
		return nil, err
	}
	if err := checkSize(&pb.InternalRaftRequest{Put: r}, s.cfg.MaxRequestBytes); err != nil {
		return nil, err
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.noSpace {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	if err := s.data.admitPut(r); err != nil {
		return nil, err
	}
	w := &write{data: s.data}
	resp := w.runPut(r)
	s.commit(w)
	s.header(resp.Header)
	return resp, nil
}

func (s *Server) deleteRange(r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := checkDelete(r); err != nil {
		return nil, err
	}
	if err := checkSize(&pb.InternalRaftRequest{DeleteRange: r}, s.cfg.MaxRequestBytes); err != nil {
		return nil, err
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	w := &write{data: s.data}
	resp := w.runDelete(r)
	s.commit(w)
	s.header(resp.Header)
	return resp, nil
}

func (s *Server) txn(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := checkTxn(r, s.cfg.MaxTxnOps); err != nil {
		return nil, err
	}
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		if _, _, err := checkOverlap(branch); err != nil {
			return nil, err
		}
	}
	if !readOnly(r) {
		if err := checkSize(&pb.InternalRaftRequest{Txn: r}, s.cfg.MaxRequestBytes); err != nil {
			return nil, err
		}
	}
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.noSpace && hasPut(r) {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	p := s.data.decide(r)
	if err := s.data.admit(p); err != nil {
		return nil, err
	}
	w := &write{data: s.data}
	resp, err := w.run(p)
	s.commit(w)
	if err != nil {
		return nil, err
	}
	s.header(resp.Header)
	return resp, nil
}

func (s *Server) compact(r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.data.compact(r.Revision); err != nil {
		return nil, err
	}
	return &pb.CompactionResponse{Header: s.header(nil)}, nil
}
