package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/store/embedded"
)

// connect makes n.client: in-process to an embedded member, or over the network.
func (n *Node) connect(ctx context.Context, stops *closers) error {
	if len(n.set.Etcd.Endpoints) == 0 {
		return n.embed(ctx, stops)
	}
	err := n.awaitEtcd(ctx, func(context.Context) (err error) {
		n.client, err = Dial(n.set.Etcd)
		return err
	})
	if err != nil {
		return err
	}
	stops.add("close etcd client", func() error { return ignoreCanceled(n.client.Close()) })
	if len(n.set.Etcd.Endpoints) > 1 {
		choice := chooseEndpoints(n.set.Etcd, n.client, n.log.Named("etcd"))
		stops.add("close probes of etcd", choice.close)
		stops.background(ctx)("choose etcd endpoints", choice.run)
	}
	return n.awaitEtcd(ctx, func(ctx context.Context) error { return CheckVersion(ctx, n.client) })
}

// embed starts this node's etcd member.
func (n *Node) embed(ctx context.Context, stops *closers) error {
	e := n.set.Etcd.Embedded
	if e.Cluster == "" && n.set.Origins()["etcd.embedded.peer"] == config.OriginDefault {
		e.Peer = "" // a single member has no peers, and needs no port for them
	}
	cfg := embedded.Config{
		Name: n.set.Node.Name, Dir: filepath.Join(n.set.Node.DataDir, "etcd"),
		Client: e.Client, Peer: e.Peer, Cluster: e.Cluster,
	}
	if err := cfg.Validate(); err != nil {
		return badConfig(fmt.Errorf("read etcd.embedded: %w", err))
	}
	server, err := embedded.Start(ctx, cfg, n.log)
	if err != nil {
		return badPlace(err)
	}
	stops.add("close etcd", server.Close)
	n.client, n.member = server.Client(), server
	stops.background(ctx)("run etcd", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-server.Done():
			return fmt.Errorf("etcd member ended: %w", server.Err())
		}
	})
	return nil
}

// keepApart moves etcd's leadership to another member whenever this node's has it, until ctx ends: the death of one process
// is to cost one election and not two. A new leader has more urgent things to write at first, which would have to wait.
func (n *Node) keepApart(ctx context.Context) {
	for {
		pause(ctx, time.Second)
		if ctx.Err() != nil {
			return
		}
		if n.member.IsLeader() && n.member.MemberCount() > 1 {
			if err := n.passOn(ctx); err != nil && ctx.Err() == nil {
				n.log.Debug("etcd leadership was not moved", "err", err)
			}
		}
	}
}

// passOn makes the member of another replica lead etcd. It has to be one that stands for election, since others may be about
// to end, as the last leader does that was asked to; and one that answers, since to wait for a member that does not stops
// every write.
func (n *Node) passOn(ctx context.Context) error {
	standing, err := election.Candidates(ctx, n.client, n.store.Keys().Election())
	if err != nil {
		return err
	}
	for _, c := range standing {
		id, known := n.member.MemberID(c.Node)
		if !known || id == n.member.ID() || !answers(ctx, c.Addr) {
			continue
		}
		moving, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return n.member.MoveLeader(moving, id)
	}
	return errors.New("no other replica stands for election and answers")
}

// answers says whether somebody listens at addr.
func answers(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: 300 * time.Millisecond}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// hurryWrites has writes sent again at once when another member leads etcd, until ctx ends.
func (n *Node) hurryWrites(ctx context.Context) error {
	for {
		changed := n.member.LeaderChanged()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			n.store.Hurry()
		}
	}
}

// Connections that could not be had are tried again soon: by default gRPC waits for up to two minutes, which is for how long
// nothing would be dispatched after a long outage. An attempt is not waited for longer than etcd is for an answer.
var redial = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 3 * time.Second,
})

// loginTimeout is how long a client waits until etcd has taken its password.
const loginTimeout = 3 * time.Second

// Dial returns a client for the settings' endpoints. It does not wait for an answer, unless it has a password: then it fails if
// no endpoint takes it in time.
func Dial(e config.Etcd) (*clientv3.Client, error) { return dial(e, loginTimeout) }

func dial(e config.Etcd, login time.Duration) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Endpoints:            e.Endpoints,
		DialTimeout:          login,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		PermitWithoutStream:  true,
		Username:             e.Username,
		DialOptions:          []grpc.DialOption{redial},
		Logger:               zap.NewNop(), // what matters comes back as an error
	}
	if e.PasswordFile != "" {
		b, err := os.ReadFile(e.PasswordFile)
		if err != nil {
			return nil, badConfig(fmt.Errorf("read etcd.password_file: %w", err))
		}
		cfg.Password = strings.TrimRight(string(b), "\r\n")
	}
	var err error
	if cfg.TLS, err = clientTLS(e.TLS); err != nil {
		return nil, err
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd %s: %w", strings.Join(e.Endpoints, ","), err)
	}
	return client, nil
}

func clientTLS(t config.ClientTLS) (*tls.Config, error) {
	if t == (config.ClientTLS{}) {
		return nil, nil
	}
	info := transport.TLSInfo{CertFile: t.Cert, KeyFile: t.Key, TrustedCAFile: t.CA}
	c, err := info.ClientConfig()
	if err != nil {
		return nil, badConfig(fmt.Errorf("read etcd.tls: %w", err))
	}
	return c, nil
}

// awaitEtcd calls ask until etcd answers, or refuses what waiting does not change. Until then it says every few seconds that it
// does not.
func (n *Node) awaitEtcd(ctx context.Context, ask func(ctx context.Context) error) error {
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := ask(try)
		cancel()
		switch {
		case err == nil || IsConfig(err) || errors.Is(err, rpctypes.ErrAuthFailed):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		n.log.Error("etcd does not answer, trying again", "endpoints", strings.Join(n.set.Etcd.Endpoints, ","),
			"err", unreached(n.set.Etcd.Endpoints, err), "again_in", pause.String())
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// unreached says why no endpoint answers, where the client's own error says only that time ran out.
func unreached(endpoints []string, err error) string {
	for _, ep := range endpoints {
		u, parseErr := url.Parse(ep)
		if parseErr != nil || u.Host == "" {
			continue
		}
		conn, dialErr := net.DialTimeout("tcp", u.Host, time.Second)
		if dialErr != nil {
			return dialErr.Error()
		}
		conn.Close()
	}
	return shortError(err)
}

// OldEtcdError is an etcd that has bugs which rota cannot make up for.
type OldEtcdError struct{ Endpoint, Version string }

func (e *OldEtcdError) Error() string {
	return fmt.Sprintf("etcd %s at %s is too old: it can answer reads with stale data after a pause; use 3.5.28, 3.6.9, 3.7 or later",
		e.Version, e.Endpoint)
}

// CheckVersion asks all endpoints for their version, until one answers, and refuses one that is too old. Side by side: one that
// does not answer would use up the time of those after it.
func CheckVersion(ctx context.Context, client *clientv3.Client) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		endpoint, version string
		err               error
	}
	endpoints := client.Endpoints()
	answers := make(chan answer, len(endpoints))
	for _, ep := range endpoints {
		wg.Go(func() {
			a := answer{endpoint: ep}
			resp, err := client.Status(ctx, ep)
			if a.err = err; err == nil {
				a.version = resp.Version
			}
			answers <- a
		})
	}
	var errs []error
	for range endpoints {
		a := <-answers
		switch {
		case a.err != nil:
			errs = append(errs, a.err)
		case !recent(a.version):
			return &OldEtcdError{Endpoint: a.endpoint, Version: a.version}
		default:
			return nil
		}
	}
	return errors.Join(errs...)
}

// recent says whether a version has the fixes that rota relies on.
func recent(version string) bool {
	var v [3]int
	for i, part := range strings.SplitN(strings.SplitN(version, "-", 2)[0], ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return true // a version that we cannot read is not one that we know to be bad
		}
		v[i] = n
	}
	switch {
	case v[0] != 3:
		return v[0] > 3
	case v[1] == 5:
		return v[2] >= 28
	case v[1] == 6:
		return v[2] >= 9
	}
	return v[1] > 6
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// shortError is the last, most telling part of a gRPC error.
func shortError(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, "desc = "); i >= 0 {
		s = s[i+len("desc = "):]
	}
	return strings.Trim(s, `"`)
}
