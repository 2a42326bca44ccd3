package election

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// member is an etcd whose renewal streams a test answers. Streams are counted from 1, and so are the requests on each.
type member struct {
	pb.LeaseClient
	answer func(stream, request int) (time.Duration, error) // how long the answer takes
	opened int
}

type memberStream struct {
	pb.Lease_LeaseKeepAliveClient
	member  *member
	ctx     context.Context
	n, sent int
	answers chan *pb.LeaseKeepAliveResponse
}

func (m *member) LeaseKeepAlive(ctx context.Context, _ ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	m.opened++
	return &memberStream{member: m, ctx: ctx, n: m.opened, answers: make(chan *pb.LeaseKeepAliveResponse, 10)}, nil
}

// Send schedules the answer. The answer arrives even if the request that it belongs to has been given up.
func (s *memberStream) Send(req *pb.LeaseKeepAliveRequest) error {
	s.sent++
	after, err := s.member.answer(s.n, s.sent)
	if err != nil {
		return err
	}
	resp := &pb.LeaseKeepAliveResponse{ID: req.ID, TTL: 5}
	time.AfterFunc(after, func() { s.answers <- resp })
	return nil
}

func (s *memberStream) Recv() (*pb.LeaseKeepAliveResponse, error) {
	select {
	case resp := <-s.answers:
		return resp, nil
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

func TestRenewalsReuseStreams(t *testing.T) {
	soon := func(int, int) (time.Duration, error) { return 10 * time.Millisecond, nil }
	for name, test := range map[string]struct {
		answer func(stream, request int) (time.Duration, error)
		want   []int // for each renewal, the number of streams opened when it ends
		fails  int   // the renewal without an answer, from 1; 0: all are answered
	}{
		"a stream that answers is reused": {soon, []int{1, 1, 1}, 0},
		"a stream without an answer is not reused": {func(stream, request int) (time.Duration, error) {
			if stream == 1 && request == 2 {
				return time.Second, nil
			}
			return soon(stream, request)
		}, []int{1, 1, 2, 2}, 2},
		"a stream that has ended is replaced at once": {func(stream, request int) (time.Duration, error) {
			if stream == 1 && request == 3 {
				return 0, io.EOF
			}
			return soon(stream, request)
		}, []int{1, 1, 2, 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &member{answer: test.answer}
				lease := clientv3.NewLeaseFromLeaseClient(&streamPool{LeaseClient: m}, nil, time.Second)
				defer lease.Close()
				for i, want := range test.want {
					ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
					began := time.Now()
					_, err := lease.KeepAliveOnce(ctx, 7)
					cancel()
					if fails := i+1 == test.fails; fails != errors.Is(err, context.DeadlineExceeded) || !fails && (err != nil || time.Since(began) != 10*time.Millisecond) {
						t.Errorf("renewal %d: got %v after %v", i+1, err, time.Since(began))
					}
					if m.opened != want {
						t.Errorf("renewal %d: opened %d streams, want %d", i+1, m.opened, want)
					}
				}
			})
		})
	}
}

func TestConcurrentRenewalsUseSeparateStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &member{answer: func(int, int) (time.Duration, error) { return time.Second, nil }}
		s := &streamPool{LeaseClient: m}
		var all []pb.Lease_LeaseKeepAliveClient
		for range maxIdle + 1 {
			r, err := s.LeaseKeepAlive(t.Context())
			if err != nil || r.Send(&pb.LeaseKeepAliveRequest{ID: 7}) != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		for _, r := range all {
			if _, err := r.Recv(); err != nil {
				t.Error(err)
			}
			if err := r.CloseSend(); err != nil {
				t.Error(err)
			}
		}
		if m.opened != maxIdle+1 || len(s.idle) != maxIdle {
			t.Errorf("opened %d streams and kept %d, want %d and %d", m.opened, len(s.idle), maxIdle+1, maxIdle)
		}
	})
}

// TestALeaseDoesNotLogInForEachRenewal renews a lease on an etcd that requires passwords.
func TestALeaseDoesNotLogInForEachRenewal(t *testing.T) {
	t.Parallel()
	etcd, err := startEtcd(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	addr := etcd.Clients[0].Addr().String()
	admin := dial(t, addr)
	_, err1 := admin.UserAdd(t.Context(), "root", "s3cret")
	_, err2 := admin.UserGrantRole(t.Context(), "root", "root")
	_, err3 := admin.AuthEnable(t.Context())
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var logins, streams atomic.Int64
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{addr}, Username: "root", Password: "s3cret", DialTimeout: patience, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if method == pb.Auth_Authenticate_FullMethodName {
					logins.Add(1)
				}
				return invoke(ctx, method, req, reply, cc, opts...)
			}),
			grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				streams.Add(1)
				return open(ctx, desc, cc, method, opts...)
			}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ReuseStreams(client)
	cfg := LeaseConfig{TTL: 15 * time.Second, RenewTimeout: 4 * time.Second}
	lease, err := Grant(t.Context(), client, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := client.KeepAlive(t.Context(), lease.ID()) // as a session of package concurrency does
	if err != nil {
		t.Fatal(err)
	}
	for range 25 { // one after another: on a busy machine, the tries of Run overlap, and each of those needs a stream
		if err := lease.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		if answer := receive(t, "the client's own stream to be answered", own); answer == nil {
			t.Fatalf("the client's own stream ended after %d answers", n)
		}
	}
	if logins.Load() > 5 || streams.Load() == 0 {
		t.Errorf("the client logged in %d times for %d streams, want a handful", logins.Load(), streams.Load())
	}
	if err := lease.Revoke(call(t)); err != nil {
		t.Error(err)
	}
}
