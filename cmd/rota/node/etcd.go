package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store/embedded"
)

// connect makes n.client: in-process to an embedded member, or over the network.
func (n *Node) connect(ctx context.Context, stops *closers) error {
	if len(n.set.Etcd.Endpoints) == 0 {
		return n.embed(ctx, stops)
	}
	err := n.awaitEtcd(ctx, func(context.Context) (err error) {
		if n.password, err = password(n.set.Etcd); err != nil {
			return err
		}
		n.client, err = Dial(n.set.Etcd)
		return err
	})
	if err != nil {
		return err
	}
	stops.add("close etcd client", func() error { return ignoreCanceled(n.client.Close()) })
	if len(n.set.Etcd.Endpoints) > 1 {
		n.choice = chooseEndpoints(n.set.Etcd, n.client, func() string { return n.memory.known().Cluster }, n.log.Named("etcd"))
		stops.add("close probes of etcd", n.choice.close)
		n.choice.look(ctx) // before anything is asked that another cluster may answer
		stops.background(ctx)("choose etcd endpoints", n.choice.run)
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
		Dying: n.cfg.Dying,
	}
	if n.memory.known().Revision > 0 {
		cfg.KnownBy = n.memory.path
	}
	if err := cfg.Validate(); err != nil {
		return badConfig(fmt.Errorf("read etcd.embedded: %w", err))
	}
	// A full disk ends etcd, before there is a worker that would make room.
	if removed, err := worker.MakeRoom(ctx, n.set.Node.DataDir, n.now()); removed > 0 || err != nil {
		n.log.Warn("old output was removed, since there is little room on the disk", "dir", n.set.Node.DataDir, "files", removed, "err", err)
	}
	server, err := embedded.Start(ctx, cfg, n.log)
	if errors.Is(err, embedded.ErrMembers) {
		return badConfig(err)
	}
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

// passOn makes the member of another replica lead etcd.
func (n *Node) passOn(ctx context.Context) error {
	standing, err := election.Candidates(ctx, n.client, n.store.Keys().Election())
	if err != nil {
		return err
	}
	id, ok := heir(standing, func(c election.Candidate) (uint64, bool) {
		id, known := n.member.MemberID(c.Node)
		return id, known && id != n.member.ID() && n.clocks.answers(ctx, c.Node, c.Addr)
	})
	if !ok {
		return errors.New("no other replica stands for election and answers")
	}
	moving, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return n.member.MoveLeader(moving, id)
}

// heir is the member that is to lead etcd, of those that may. It has to be of a replica that stands for election, since others
// may be about to end, as the last leader does that was asked to; and of one that answers, since to wait for a member that does
// not stops every write. The last in the queue is the best: the first is the next to lead rota, and would have to pass etcd on
// again, and until then its death would cost both.
func heir(standing []election.Candidate, may func(election.Candidate) (uint64, bool)) (id uint64, ok bool) {
	for _, c := range slices.Backward(standing) {
		if id, ok = may(c); ok {
			return id, true
		}
	}
	return 0, false
}

// hurryWrites has writes sent again at once when another member leads etcd, until ctx ends.
func (n *Node) hurryWrites(ctx context.Context) error {
	for {
		changed := n.member.LeaderChanged()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			n.store.Resend()
		}
	}
}

// The pace of awaitEtcd.
const (
	askPause = 2 * time.Second // at most, between two tries: for as long nobody may lead after an outage
	askTold  = 5 * time.Second // between two lines that tell of it
)

// awaitEtcd calls ask until etcd answers, or refuses what waiting does not change. Until then it says now and then that it
// does not.
func (n *Node) awaitEtcd(ctx context.Context, ask func(ctx context.Context) error) error {
	var told time.Time
	for pause := askPause / 4; ; pause = min(2*pause, askPause) {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := ask(try)
		cancel()
		switch {
		case err == nil || IsConfig(err) || errors.Is(err, rpctypes.ErrAuthFailed):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(told) >= askTold:
			told = time.Now()
			n.log.Error("etcd does not answer, trying again", "endpoints", strings.Join(n.set.Etcd.Endpoints, ","),
				"err", unreached(n.set.Etcd.Endpoints, err))
		}
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
