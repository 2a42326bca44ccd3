package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
)

// Bounds of Close, one after the other.
const (
	callGrace    = 500 * time.Millisecond // for calls inside, local and remote
	transferTime = 2 * time.Second        // for handing etcd's leadership over
	stopTime     = 15 * time.Second       // for etcd to stop, disk included
)

// Server is one running member. Its methods may be called from any goroutine.
type Server struct {
	cfg      Config
	log      hclog.Logger
	core     *logCore
	lock     *os.File
	etcd     *embed.Etcd
	gate     *gate
	client   *clientv3.Client
	endpoint string

	grpcMu sync.Mutex
	grpc   []*grpc.Server // guarded by grpcMu; etcd's servers for client traffic

	wg      sync.WaitGroup // the watcher and leadership transfers; Close waits
	closing chan struct{}  // closed by Close, first of all

	endOnce sync.Once
	done    chan struct{} // closed when the member has ended, after err is set
	err     error

	closeOnce sync.Once
	closeErr  error
}

// Client is the in-process client: it costs no gRPC and no TCP, and reaches
// this member only. The package documentation says how its errors and watches
// differ from those of a client over the network. Close closes it.
func (s *Server) Client() *clientv3.Client { return s.client }

// Endpoint is the URL at which other clients reach this member.
func (s *Server) Endpoint() string { return s.endpoint }

// Done is closed when the member has ended: by itself, as when it was removed
// from its cluster, or because Close is done. Err then tells which.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is why the member ended by itself; nil while it runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// ID is this member's id in the cluster.
func (s *Server) ID() uint64 { return uint64(s.etcd.Server.MemberID()) }

// LeaderID is the id of the member that leads etcd, as far as this one knows;
// zero while it knows of none.
func (s *Server) LeaderID() uint64 { return s.etcd.Server.Lead() }

// IsLeader reports whether this member believes it leads etcd. It may be wrong
// for up to an election time; nothing that matters may rest on it.
func (s *Server) IsLeader() bool { return s.LeaderID() == s.ID() }

// MemberCount is the number of members of the cluster, running or not.
func (s *Server) MemberCount() int { return len(s.etcd.Server.Cluster().Members()) }

// MoveLeader makes member to lead etcd and returns when this member has seen
// it lead, or ctx ended. Writes wait meanwhile, usually for milliseconds; when
// to does not answer, for up to an election time.
func (s *Server) MoveLeader(ctx context.Context, to uint64) error {
	if err := s.etcd.Server.MoveLeader(ctx, s.LeaderID(), to); err != nil {
		return fmt.Errorf("move etcd leadership to %x: %w", to, err)
	}
	return nil
}

// MemberID is the id of the member that is called name, false if there is none.
func (s *Server) MemberID(name string) (uint64, bool) {
	for _, m := range s.etcd.Server.Cluster().Members() {
		if m.Name == name {
			return uint64(m.ID), true
		}
	}
	return 0, false
}

// LeaderChanged returns a channel that is closed when another member leads
// etcd. What was on its way to the last one may be lost without an answer.
func (s *Server) LeaderChanged() <-chan struct{} { return s.etcd.Server.LeaderChangedNotify() }

// YieldLeader makes the member that has been connected longest lead etcd in
// this one's place. It does nothing if this member does not lead or is alone.
func (s *Server) YieldLeader(ctx context.Context) error {
	moved := make(chan error, 1)
	s.wg.Go(func() { moved <- s.etcd.Server.TryTransferLeadershipOnShutdown() })
	select {
	case err := <-moved:
		if err != nil {
			return fmt.Errorf("yield etcd leadership: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("yield etcd leadership: %w", context.Cause(ctx))
	}
}

// watch notices when the member ends by itself.
func (s *Server) watch() {
	stopping := s.etcd.Server.StoppingNotify()
	select {
	case <-s.closing:
		return
	case err := <-s.etcd.Err():
		s.end(fmt.Errorf("serve etcd clients of %s: %w", s.cfg.Name, err))
		return
	case <-stopping:
	}
	select {
	case <-s.closing:
		return
	default:
	}
	s.core.state.phase.Store(closing)
	// etcd closes its database next: keep calls away from it.
	s.gate.close(0)
	<-s.etcd.Server.StopNotify()
	err := errors.New("stopped by itself")
	if p := s.core.state.failure.Load(); p != nil {
		err = *p
	}
	s.end(fmt.Errorf("run etcd member %s: %w", s.cfg.Name, err))
}

func (s *Server) end(err error) {
	s.endOnce.Do(func() {
		s.err = err
		close(s.done)
	})
}

// Close hands etcd's leadership to another member if this one holds it, stops
// the member and frees its directory and ports. It takes milliseconds as a
// rule, a second more with other members, and at most the sum of its bounds
// (18 s, when a disk hangs). Calls under way get half a second to finish.
// Calling it again returns the same error. The last connections from other
// members may take five seconds more to time out, which holds nothing up.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Server) close() error {
	close(s.closing)
	s.core.state.phase.Store(closing)

	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), transferTime)
	// Without a healthy member to take over there is an election to wait for
	// whatever we do, so this error is not the caller's.
	if err := s.YieldLeader(ctx); err != nil {
		s.log.Info("etcd leadership was not handed over", "err", err)
	}
	cancel()

	stopped := make(chan struct{})
	go func() { // ends with stopped, which is waited for below
		defer close(stopped)
		s.stop()
	}()
	select {
	case <-stopped:
	case <-time.After(stopTime):
		// The lock stays with us: etcd may still write.
		return fmt.Errorf("close etcd member %s: not stopped after %s", s.cfg.Name, stopTime)
	}
	if err := s.lock.Close(); err != nil {
		errs = append(errs, fmt.Errorf("unlock data dir: %w", err))
	}
	s.end(nil)
	return errors.Join(errs...)
}

// stop takes the member down: callers first, then etcd. The order matters.
// etcd's own Close waits seven seconds for remote watches that never end, and
// for ever if the member was never ready, unless its server is stopped before.
func (s *Server) stop() {
	var callers sync.WaitGroup
	if s.gate != nil {
		callers.Go(func() { s.gate.close(callGrace) })
	}
	s.grpcMu.Lock()
	for _, g := range s.grpc {
		callers.Go(func() { s.stopGRPC(g) })
	}
	s.grpcMu.Unlock()
	callers.Wait()
	if s.client != nil {
		s.client.Close() // reports only that its context is cancelled
	}
	s.etcd.Server.HardStop()
	s.etcd.Close()
	s.wg.Wait()
}

// stopGRPC lets calls finish for the grace, then cuts them and all streams.
func (s *Server) stopGRPC(g *grpc.Server) {
	if s.cfg.ClientTLS.Cert != "" {
		g.Stop() // served through net/http, where it cannot drain
		return
	}
	t := time.AfterFunc(callGrace, g.Stop)
	defer t.Stop()
	g.GracefulStop()
}
