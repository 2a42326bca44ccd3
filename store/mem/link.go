package mem

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errClosing is the error of the calls of a closed client, as over gRPC.
var errClosing = status.Error(codes.Canceled, "grpc: the client connection is closing")

// link is the connection between one client and the server.
type link struct {
	srv     *Server
	client  *clientv3.Client
	closing chan struct{}  // closed when the client's watcher is closed
	running sync.WaitGroup // the goroutines of its watches

	// Guarded by srv.mu.
	closed  bool          // closing is closed
	watches []*watch      // in the order of their creation
	hole    chan struct{} // not nil while the client is cut off; closed by Heal
	stalled bool          // its watches receive nothing
}

// alive returns an error if the call or the client has ended.
func (l *link) alive(ctx context.Context) error {
	if l.client.Ctx().Err() != nil {
		return errClosing
	}
	return ctx.Err()
}

// wait returns nil when c is closed or delivers a value.
func wait[T any](ctx context.Context, l *link, c <-chan T) error {
	select {
	case <-c:
		return l.alive(ctx)
	case <-ctx.Done():
		return ctx.Err()
	case <-l.client.Ctx().Done():
		return errClosing
	}
}

// sleep waits for d. It returns early if the call or the client ends.
func (l *link) sleep(ctx context.Context, d time.Duration) error {
	return wait(ctx, l, time.After(d))
}

// reach brings a request to the server. It waits while the client is cut off,
// takes the operation's number, applies delayed requests that are due, and asks
// for the verdict.
func (l *link) reach(ctx context.Context, op *Op) (Verdict, error) {
	if err := l.alive(ctx); err != nil {
		return Verdict{}, err
	}
	s := l.srv
	s.mu.Lock()
	for l.hole != nil {
		hole := l.hole
		s.mu.Unlock()
		if err := wait(ctx, l, hole); err != nil {
			return Verdict{}, err
		}
		s.mu.Lock()
	}
	s.ops++
	op.N, op.Client = s.ops, l.client
	waiting := len(s.held) > 0
	s.mu.Unlock()
	if waiting {
		s.applyHeld(func(h *held) bool { return h.due != 0 && h.due <= op.N })
	}
	if s.cfg.Faults == nil {
		return Verdict{}, nil
	}
	v := s.cfg.Faults.Before(*op)
	if v.Delay > 0 {
		if err := l.sleep(ctx, v.Delay); err != nil {
			return Verdict{}, err
		}
	}
	return v, nil
}

// fail returns the answer to an operation that fails by the verdict.
func (l *link) fail(ctx context.Context, v Verdict) error {
	if v.Hang {
		return wait(ctx, l, make(chan struct{}))
	}
	if v.Err != nil {
		return v.Err
	}
	return rpctypes.ErrGRPCTimeout
}

// call makes one operation succeed or fail, as the faults decide.
func call[T any](ctx context.Context, l *link, op Op, apply func() (T, error)) (T, error) {
	var none T
	v, err := l.reach(ctx, &op)
	if err != nil {
		return none, err
	}
	switch v.Action {
	case Proceed:
		return apply()
	case Lose:
		_, _ = apply()
	case Late:
		l.srv.hold(op.N, v, func() { _, _ = apply() })
	}
	return none, l.fail(ctx, v)
}
