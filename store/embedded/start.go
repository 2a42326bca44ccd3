package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
)

// joinTries is how often a member tries again to join a cluster whose members change.
const joinTries = 5

// patience is how long a member waits for the others before it logs that it waits.
const patience = time.Second

// Start starts a member and returns when it serves: it has joined its cluster
// and knows a leader. At the first start of a cluster this takes until a
// majority of its members has started, so ctx should bound it. If ctx ends
// first, Start stops the member and returns at once. Each other member that
// drops packets may delay this by up to a second.
//
// With cfg.Rejoin, the first start of a cluster takes until all of its members
// have started, and a member that joins serves once it votes.
//
// After Start, ctx has no further effect. The caller must Close the Server.
func Start(ctx context.Context, cfg Config, log hclog.Logger) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("validate etcd.embedded: %w", err)
	}
	s, err := startOnce(ctx, cfg, log)
	switch {
	case !errors.Is(err, errRemoved):
	case !cfg.Rejoin:
		err = fmt.Errorf("%w; with this process stopped, move %s away, and follow docs/how-to/replace-a-member.md", err, cfg.Dir)
	default:
		log.Named("etcd").
			Warn("the cluster has removed this member: its data is set aside, and it joins again", "node", cfg.Name, "dir", cfg.Dir)
		if err := setAside(cfg.Dir); err != nil {
			return nil, err
		}
		s, err = startOnce(ctx, cfg, log)
	}
	return s, err
}

// errRemoved says that the other members have removed this one from their cluster. etcd's own error has the same text, and no type.
var errRemoved = errors.New("the member has been permanently removed from the cluster")

// startOnce starts a member whose config is valid.
func startOnce(ctx context.Context, cfg Config, log hclog.Logger) (*Server, error) {
	s := &Server{
		cfg:      cfg,
		log:      log.Named("etcd"),
		closing:  make(chan struct{}),
		unlisted: make(chan struct{}),
		done:     make(chan struct{}),
	}
	s.core = newLogCore(s.log, cfg.Dying)
	if err := s.launch(ctx); err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", cfg.Name, err)
	}
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd member %s: %w", cfg.Name, err), s.Close())
	}
	if cfg.Rejoin {
		if err := s.promote(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start etcd member %s: become a voter: %w", cfg.Name, err), s.Close())
		}
	}
	s.core.state.phase.Store(serving)

	s.guard = newCallGuard(
		newDirect(adapter.KvServerToKvClient(v3rpc.NewQuotaKVServer(s.etcd.Server)), s.etcd.Server),
		func() bool { return s.LeaderID() != 0 })
	s.client = v3client.New(s.etcd.Server)
	s.client.KV = kv{clientv3.NewKVFromKVClient(s.guard, s.client), s.guard}
	s.client.Lease = leases{s.client.Lease, adapter.LeaseServerToLeaseClient(v3rpc.NewQuotaLeaseServer(s.etcd.Server))}
	s.client.Maintenance = maintenance{s.client.Maintenance, s}
	s.wg.Go(s.watch)
	switch {
	case cfg.Rejoin:
		s.wg.Go(s.tend)
	case cfg.Cluster != "":
		s.wg.Go(s.publishPeer)
	}
	s.log.Info("etcd serves", "node", cfg.Name, "endpoint", s.endpoint, "members", s.MemberCount())
	return s, nil
}

// launch locks the directory, checks the ports and starts etcd.
func (s *Server) launch(ctx context.Context) (err error) {
	if err := checkFiles(openFiles()); err != nil {
		return err
	}
	if s.lock, err = LockDir(s.cfg.Dir, 0); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := checkDatabase(s.cfg.Dir); err != nil {
		return err
	}
	if err := errors.Join(s.cfg.checkComplete(), s.cfg.checkOwner()); err != nil {
		return err
	}

	e := s.cfg.etcd()
	lp := e.ListenPeerUrls[0]
	if _, err := checkPort("peer", lp); err != nil {
		return err
	}
	lc, err := checkPort("client", e.ListenClientUrls[0])
	if err != nil {
		return err
	}
	for i := range e.ListenClientUrls {
		e.ListenClientUrls[i].Host = lc.Host
	}
	if c := &e.AdvertiseClientUrls[0]; c.Port() == "0" {
		c.Host = net.JoinHostPort(c.Hostname(), lc.Port())
	}
	s.endpoint = e.AdvertiseClientUrls[0].String()
	for what, u := range map[string]url.URL{"client": lc, "peer": lp} {
		switch {
		case s.cfg.Optional && (what == "client" || u.Scheme == "http"):
			s.log.Warn("etcd accepts connections without tls: end this by etcd.embedded.tls.optional: false",
				"traffic", what, "listen", u.Host)
		case u.Scheme == "http" && !loopback(u):
			s.log.Warn("etcd listens without tls beyond this machine: keep strangers out of the network",
				"traffic", what, "listen", u.Host)
		}
	}

	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(s.core, zap.WithPanicHook(endOfDisk{zapcore.WriteThenFatal})))
	e.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.refuseStatus)}
	e.ServiceRegister = func(g *grpc.Server) {
		s.grpcMu.Lock()
		defer s.grpcMu.Unlock()
		s.grpc = append(s.grpc, g)
	}
	added, err := s.added(ctx, e)
	if err != nil {
		return err
	}
	if added {
		s.log.Info("joining the cluster as a new member", "node", s.cfg.Name)
		e.ClusterState = embed.ClusterStateFlagExisting
	}
	s.etcd, err = embed.StartEtcd(e)
	for tries := 0; err != nil && s.cfg.Rejoin && e.ClusterState == embed.ClusterStateFlagExisting && tries < joinTries; tries++ {
		s.log.Info("joining failed, trying again", "node", s.cfg.Name, "err", err) // another member changed at the same time
		if err := s.join(ctx, e); err != nil {
			return err
		}
		s.etcd, err = embed.StartEtcd(e)
	}
	if err != nil && strings.Contains(err.Error(), "has already been bootstrapped") {
		return fmt.Errorf("%w: %s", err, s.lost("the others know"))
	}
	if err == nil {
		s.running.Store(s.etcd.Server)
	}
	return err
}

// await blocks until the member is ready.
func (s *Server) await(ctx context.Context) error {
	long := time.After(patience)
	for {
		select {
		case <-s.etcd.Server.ReadyNotify():
			return nil
		case err := <-s.etcd.Err():
			if reason := s.stopped(); errors.Is(reason, errRemoved) {
				return reason // err only says that the server stops
			}
			return err
		case <-s.etcd.Server.StopNotify():
			return s.stopped()
		case <-ctx.Done():
			if others := s.others(); others != "" {
				return fmt.Errorf("waiting for a majority with %s: %w", others, context.Cause(ctx))
			}
			return context.Cause(ctx)
		case <-long:
			if others := s.others(); others != "" {
				s.log.Info("waiting for other members", "node", s.cfg.Name, "members", others)
			}
		}
	}
}

// stopped returns the reason why etcd stopped itself.
func (s *Server) stopped() error {
	p := s.core.state.failure.Load()
	switch {
	case p == nil:
		return errors.New("stopped by itself")
	case strings.Contains((*p).Error(), errRemoved.Error()):
		return errRemoved
	}
	return *p
}

// others names the other members: those in the directory, or those of the config
// at the first start.
func (s *Server) others() string {
	var names []string
	for _, m := range s.etcd.Server.Cluster().Members() {
		if m.ID != s.etcd.Server.MemberID() {
			names = append(names, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.PeerURLs, " ")))
		}
	}
	if len(names) == 0 {
		for _, p := range s.cfg.others() {
			names = append(names, fmt.Sprintf("%s (%s)", p.name, p.url))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
