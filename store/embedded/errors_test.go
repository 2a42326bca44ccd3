package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// clients returns the two clients of a member. Their errors must be the same.
func clients(t *testing.T, s *Server) map[string]*clientv3.Client {
	return map[string]*clientv3.Client{"in process": s.Client(), "over grpc": dial(t, s.Endpoint())}
}

func TestErrorsOfBothClientsAreTheSame(t *testing.T) {
	t.Parallel()
	s := start(t, solo(t))
	var puts []clientv3.Op
	for i := range MaxTxnOps + 1 {
		puts = append(puts, clientv3.OpPut(fmt.Sprint("k", i), "v"))
	}
	put(t, s.Client(), "k", "1")
	put(t, s.Client(), "k", "2")
	resp, err := s.Client().Get(withTimeout(t, 5*time.Second), "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().Compact(withTimeout(t, 5*time.Second), resp.Header.Revision); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name string
		want error
		call func(ctx context.Context, c *clientv3.Client) error
	}{
		{"too many operations", rpctypes.ErrTooManyOps, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Txn(ctx).Then(puts...).Commit()
			return err
		}},
		{"same key twice", rpctypes.ErrDuplicateKey, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Txn(ctx).Then(puts[0], puts[0]).Commit()
			return err
		}},
		{"request too large", rpctypes.ErrRequestTooLarge, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Put(ctx, "k", strings.Repeat("x", MaxRequestBytes))
			return err
		}},
		{"no such lease", rpctypes.ErrLeaseNotFound, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Put(ctx, "k", "v", clientv3.WithLease(42))
			return err
		}},
		{"read of a compacted revision", rpctypes.ErrCompacted, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Get(ctx, "k", clientv3.WithRev(2))
			return err
		}},
		{"watch of a compacted revision", rpctypes.ErrCompacted, func(ctx context.Context, c *clientv3.Client) error {
			r := <-c.Watch(ctx, "k", clientv3.WithRev(2))
			return r.Err()
		}},
		{"read of a future revision", rpctypes.ErrFutureRev, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Get(ctx, "k", clientv3.WithRev(1<<40))
			return err
		}},
		{"cancelled by the caller", context.Canceled, func(ctx context.Context, c *clientv3.Client) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := c.Put(ctx, "k", "v")
			return err
		}},
		{"deadline passed", context.DeadlineExceeded, func(ctx context.Context, c *clientv3.Client) error {
			ctx, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			_, err := c.Put(ctx, "k", "v")
			return err
		}},
		// This case is the last, because later writes fail.
		{"database full", rpctypes.ErrNoSpace, func(ctx context.Context, c *clientv3.Client) error {
			for {
				if _, err := c.Put(ctx, "full", strings.Repeat("x", 1<<20)); err != nil {
					return err
				}
			}
		}},
	}
	both := clients(t, s)
	for _, tt := range tests {
		for via, c := range both {
			t.Run(tt.name+" "+via, func(t *testing.T) {
				if err := tt.call(withTimeout(t, 10*time.Second), c); !errors.Is(err, tt.want) {
					t.Errorf("got %T %v, want %v", err, err, tt.want)
				}
			})
		}
	}
}

func TestErrorsWithoutAQuorum(t *testing.T) {
	t.Parallel()
	servers := startAll(t, trio(t))
	s := servers[0]
	both := clients(t, s)
	watches := make(map[string]clientv3.WatchChan)
	for via, c := range both {
		watches[via] = c.Watch(clientv3.WithRequireLeader(withTimeout(t, time.Minute)), "k", clientv3.WithCreatedNotify())
		if r := <-watches[via]; !r.Created {
			t.Fatalf("watch %s: got %+v, want created", via, r)
		}
	}
	for _, other := range servers[1:] {
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no leader", func() bool { return s.LeaderID() == 0 })

	for via, c := range both {
		t.Run("a call ends with its deadline "+via, func(t *testing.T) {
			for name, call := range map[string]func(context.Context) error{
				"put":   func(ctx context.Context) error { _, err := c.Put(ctx, "k", "v"); return err },
				"get":   func(ctx context.Context) error { _, err := c.Get(ctx, "k"); return err },
				"grant": func(ctx context.Context) error { _, err := c.Grant(ctx, 5); return err },
			} {
				if err := call(withTimeout(t, 100*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: got %T %v, want deadline exceeded", name, err, err)
				}
			}
		})
		t.Run("a call that requires a leader fails at once "+via, func(t *testing.T) {
			ctx := clientv3.WithRequireLeader(withTimeout(t, 10*time.Second))
			if _, err := c.Put(ctx, "k", "v"); !errors.Is(err, rpctypes.ErrNoLeader) {
				t.Errorf("got %T %v, want %v", err, err, rpctypes.ErrNoLeader)
			}
		})
	}
	t.Run("in process the server's own deadline looks like the caller's", func(t *testing.T) {
		ctx := withTimeout(t, time.Minute)
		_, err := s.Client().Put(ctx, "k", "v")
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("got %T %v with context %v, want deadline exceeded with a live context", err, err, ctx.Err())
		}
	})
	t.Run("a watch that requires a leader ends over grpc and stays in process", func(t *testing.T) {
		select {
		case r := <-watches["over grpc"]:
			if !errors.Is(r.Err(), rpctypes.ErrNoLeader) {
				t.Errorf("got %v, want %v", r.Err(), rpctypes.ErrNoLeader)
			}
		case <-time.After(10 * time.Second):
			t.Error("the watch over grpc is still open")
		}
		select {
		case r, ok := <-watches["in process"]:
			t.Errorf("the watch in process returned %v, %v (open %v): the package documentation is out of date", r, r.Err(), ok)
		default:
		}
	})
}

func TestCallsAfterCloseReturnErrStopped(t *testing.T) {
	t.Parallel()
	s := start(t, solo(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().Get(withTimeout(t, time.Second), "k", clientv3.WithSerializable()); !errors.Is(err, rpctypes.ErrStopped) {
		t.Errorf("got %T %v, want %v", err, err, rpctypes.ErrStopped)
	}
}
