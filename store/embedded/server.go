package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"google.golang.org/grpc"
)

// Bounds of the steps of Close, in their order.
const (
	callGrace    = 500 * time.Millisecond // for active calls, local and remote
	transferTime = 2 * time.Second        // to hand over etcd's leadership
	stopTime     = 15 * time.Second       // for etcd to stop and to finish its writes to disk
)

// Server is one running member. Its methods are safe for concurrent use.
type Server struct {
	cfg      Config
	log      hclog.Logger
	core     *logCore
	lock     *os.File
	etcd     *embed.Etcd
	running  atomic.Pointer[etcdserver.EtcdServer] // nil until etcd has started; for its own clients
	guard    *callGuard
	client   *clientv3.Client
	endpoint string

	grpcMu sync.Mutex
	grpc   []*grpc.Server // guarded by grpcMu; etcd's servers for client traffic

	wg       sync.WaitGroup // the watcher and leadership transfers; Close waits
	closing  chan struct{}  // closed by Close, as its first step
	unlisted chan struct{}  // closed by tend when this member has to leave

	endOnce sync.Once
	done    chan struct{} // closed when the member has ended, after err is set
	err     error

	closeOnce sync.Once
	closeErr  error
}

// Client returns the in-process client. It uses neither gRPC nor TCP, and reaches
// only this member. The package documentation says how its errors and watches
// differ from those of a client over the network. Close closes it.
func (s *Server) Client() *clientv3.Client { return s.client }

// Endpoint returns the URL at which other clients reach this member.
func (s *Server) Endpoint() string { return s.endpoint }

// Done returns a channel that is closed when the member has ended: by Close, or
// by itself, for example when it was removed from its cluster. Err tells the
// two apart.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the member ended by itself. It is nil while the member runs and
// after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// ID returns the ID of this member in the cluster.
func (s *Server) ID() uint64 { return uint64(s.etcd.Server.MemberID()) }

// LeaderID returns the ID of the member that leads etcd, as this member knows it;
// zero if it knows no leader.
func (s *Server) LeaderID() uint64 { return s.etcd.Server.Lead() }

// IsLeader reports whether this member believes that it leads etcd. It may be
// wrong for up to an election time, so no guarantee may depend on it.
func (s *Server) IsLeader() bool { return s.LeaderID() == s.ID() }

// MemberCount returns the number of members of the cluster, running or not.
func (s *Server) MemberCount() int { return len(s.etcd.Server.Cluster().Members()) }

// MemberNames returns the names of the voting members. A member that was never
// started has no name and is left out.
func (s *Server) MemberNames() (names []string) {
	for _, m := range s.etcd.Server.Cluster().Members() {
		if m.Name != "" && !m.IsLearner {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Voters returns the number of voting members, with those that have never started: each of them counts for the majority.
func (s *Server) Voters() (n int) {
	for _, m := range s.etcd.Server.Cluster().Members() {
		if !m.IsLearner {
			n++
		}
	}
	return n
}

// MoveLeader makes the member with ID to lead etcd. It returns when this member
// knows the new leader, or ctx has ended. Writes wait meanwhile, usually for
// milliseconds. If the other member does not answer, they wait for up to an
// election time.
func (s *Server) MoveLeader(ctx context.Context, to uint64) error {
	if err := s.etcd.Server.MoveLeader(ctx, s.LeaderID(), to); err != nil {
		return fmt.Errorf("move etcd leadership to %x: %w", to, err)
	}
	return nil
}

// MemberID returns the ID of the member called name; false if there is none.
func (s *Server) MemberID(name string) (uint64, bool) {
	for _, m := range s.etcd.Server.Cluster().Members() {
		if m.Name == name {
			return uint64(m.ID), true
		}
	}
	return 0, false
}

// LeaderChanged returns a channel that is closed when another member leads etcd.
// Requests that were under way to the previous leader may be lost without an
// answer.
func (s *Server) LeaderChanged() <-chan struct{} { return s.etcd.Server.LeaderChangedNotify() }

// YieldLeader hands etcd's leadership to the member that has been connected
// longest. It does nothing if this member does not lead or is alone.
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

// watch ends the server when the member ends by itself.
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
	// etcd closes its database next, so no call may be active.
	s.guard.close(0)
	<-s.etcd.Server.StopNotify()
	s.end(fmt.Errorf("run etcd member %s: %w", s.cfg.Name, s.stopped()))
}

func (s *Server) end(err error) {
	s.endOnce.Do(func() {
		s.err = err
		close(s.done)
	})
}

// Close hands etcd's leadership to another member if this one leads, stops the
// member, and frees its directory and ports. It usually takes milliseconds, or a
// second with other members. It takes at most the sum of its bounds (18 s, if a
// disk hangs). Active calls have half a second to finish. A second call returns
// the same error. The last connections from other members may need five seconds
// more to time out, which delays nothing.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Server) close() error {
	close(s.closing)
	s.core.state.phase.Store(closing)

	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), transferTime)
	// If no healthy member can take over, an election follows in any case. So
	// the caller does not get this error.
	if err := s.YieldLeader(ctx); err != nil {
		s.log.Info("etcd leadership was not handed over", "err", err)
	}
	cancel()

	stopped := make(chan struct{})
	go func() { // closes stopped, for which Close waits below
		defer close(stopped)
		s.stop()
	}()
	select {
	case <-stopped:
	case <-time.After(stopTime):
		// The directory stays locked, because etcd may still write.
		return fmt.Errorf("close etcd member %s: not stopped after %s", s.cfg.Name, stopTime)
	}
	if err := s.lock.Close(); err != nil {
		errs = append(errs, fmt.Errorf("unlock data dir: %w", err))
	}
	s.end(nil)
	return errors.Join(errs...)
}

// stop stops the member: first its callers, then etcd. The order matters. If the
// server still runs, etcd's own Close waits seven seconds for remote watches that
// never end, and for ever if the member was never ready.
func (s *Server) stop() {
	var callers sync.WaitGroup
	if s.guard != nil {
		callers.Go(func() { s.guard.close(callGrace) })
	}
	s.grpcMu.Lock()
	for _, g := range s.grpc {
		callers.Go(func() { s.stopGRPC(g) })
	}
	s.grpcMu.Unlock()
	callers.Wait()
	if s.client != nil {
		_ = s.client.Close() // its error only says that its context is cancelled
	}
	s.etcd.Server.HardStop()
	s.etcd.Close()
	s.wg.Wait()
}

// stopGRPC lets calls finish within the grace period. Then it ends them and all streams.
func (s *Server) stopGRPC(g *grpc.Server) {
	if s.cfg.ClientTLS.Cert != "" {
		g.Stop() // TLS is served through net/http, which cannot drain
		return
	}
	t := time.AfterFunc(callGrace, g.Stop)
	defer t.Stop()
	g.GracefulStop()
}
