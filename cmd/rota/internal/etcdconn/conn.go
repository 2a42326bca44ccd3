package etcdconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/store/embedded"
)

// Config says which etcd this process uses.
type Config struct {
	Etcd   config.Etcd     // with endpoints, the process uses the etcd at them; without, it embeds Member
	Member embedded.Config // settings of the member that this process embeds
	// Cluster returns the ID of the etcd cluster that this process used before, in hexadecimal; "" if there is none.
	Cluster func() string
}

// Conn is a connection to etcd.
type Conn struct {
	cfg       Config
	client    *clientv3.Client
	password  string           // password with which client logged in
	member    *embedded.Server // nil without an embedded member
	endpoints *endpoints       // nil if there is only one endpoint to use
	log       hclog.Logger
}

// Open makes the client, and starts the embedded member if there is one. If the settings have a password, Open waits until etcd
// accepts it. The caller then calls Run and Await, and Close at the end.
func Open(ctx context.Context, cfg Config, log hclog.Logger) (*Conn, error) {
	c := &Conn{cfg: cfg, log: log}
	if len(cfg.Etcd.Endpoints) == 0 {
		return c, c.embed(ctx)
	}
	err := c.dial(ctx, cfg.Etcd)
	if err == nil && len(cfg.Etcd.Endpoints) > 1 {
		c.endpoints = newEndpoints(cfg.Etcd, c.client, cfg.Cluster, log.Named("etcd"))
		c.endpoints.poll(ctx) // before the first request, which otherwise a member of another cluster might answer
	}
	return c, err
}

// dial makes the client. With a password, it waits until etcd accepts it.
func (c *Conn) dial(ctx context.Context, set config.Etcd) error {
	return c.await(ctx, func(context.Context) (err error) {
		if c.password, err = password(set); err != nil {
			return err
		}
		c.client, err = Dial(set)
		return err
	})
}

// embed starts this process's etcd member.
func (c *Conn) embed(ctx context.Context) error {
	if err := c.cfg.Member.Validate(); err != nil {
		return failure.Config(fmt.Errorf("read etcd.embedded: %w", err))
	}
	server, err := embedded.Start(ctx, c.cfg.Member, c.log)
	switch {
	case errors.Is(err, embedded.ErrMembers), errors.Is(err, embedded.ErrIncomplete), errors.Is(err, embedded.ErrOwner):
		return failure.Config(err)
	case err != nil:
		return failure.Place(err)
	}
	c.client, c.member = server.Client(), server
	return nil
}

// Client returns the client. Close closes it.
func (c *Conn) Client() *clientv3.Client { return c.client }

// Members returns the number of members of the embedded etcd; zero without an embedded etcd.
func (c *Conn) Members() int {
	if c.member == nil {
		return 0
	}
	return c.member.MemberCount()
}

// MemberNames returns the names of the members of the embedded etcd; nil without an embedded etcd.
func (c *Conn) MemberNames() []string {
	if c.member == nil {
		return nil
	}
	return c.member.MemberNames()
}

// Voters returns the number of voting members of the embedded etcd, with those that have never started; zero without an embedded
// etcd.
func (c *Conn) Voters() int {
	if c.member == nil {
		return 0
	}
	return c.member.Voters()
}

// Run chooses the endpoints until ctx ends. It returns an error if the embedded member ends earlier, or has to leave its cluster.
func (c *Conn) Run(ctx context.Context) error {
	switch {
	case c.endpoints != nil:
		loop.Every(ctx, probeEvery, c.endpoints.poll)
	case c.member != nil:
		select {
		case <-ctx.Done():
		case <-c.member.Done():
			return fmt.Errorf("etcd member ended: %w", c.member.Err())
		case <-c.member.Unlisted():
			return fmt.Errorf("etcd.embedded.cluster no longer lists %s", c.cfg.Member.Name)
		}
	}
	return nil
}

// Await returns when etcd answers. It returns an error if etcd's version is too old. An embedded member answers at once.
func (c *Conn) Await(ctx context.Context) error {
	if c.member != nil {
		return nil
	}
	return c.await(ctx, func(ctx context.Context) error { return CheckVersion(ctx, c.client) })
}

// Leave removes the embedded member from its cluster if the settings no longer list it. It returns when the others have accepted
// that, or ctx has ended. The caller has finished its work, and calls Close next.
func (c *Conn) Leave(ctx context.Context) {
	if c.member != nil {
		c.member.Leave(ctx)
	}
}

// Close closes the client, and ends the embedded member. Run must have returned before.
func (c *Conn) Close() error {
	if c.member != nil {
		return c.member.Close()
	}
	var probes error
	if c.endpoints != nil {
		probes = c.endpoints.close()
	}
	if c.client == nil {
		return probes
	}
	return errors.Join(probes, closeClient(c.client))
}

// A Follower has requests and watches in progress, which a change of etcd's members may interrupt.
type Follower interface {
	Resend()  // sends pending writes again, because another member leads etcd
	Suspect() // checks the watches, because a member that the client used does not answer
}

// Notify informs f of changes of etcd's members until ctx ends.
func (c *Conn) Notify(ctx context.Context, f Follower) error {
	var dropped <-chan struct{}
	if c.endpoints != nil {
		dropped = c.endpoints.dropped
	}
	for {
		var elected <-chan struct{}
		if c.member != nil {
			elected = c.member.LeaderChanged()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-elected:
			f.Resend()
		case <-dropped:
			f.Suspect()
		}
	}
}

// The pace of await.
const (
	askPause     = 2 * time.Second // the longest pause between two tries; an outage of etcd seems longer by up to this
	complainEach = 5 * time.Second // the shortest pause between two log lines
)

// await calls ask until etcd answers, or until ask fails for a permanent reason. Until then it logs from time to time that etcd
// does not answer.
func (c *Conn) await(ctx context.Context, ask func(ctx context.Context) error) error {
	var logged time.Time
	for pause := askPause / 4; ; pause = min(2*pause, askPause) {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := ask(try)
		cancel()
		switch {
		case err == nil || failure.IsConfig(err) || errors.Is(err, rpctypes.ErrAuthFailed):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(logged) >= complainEach:
			logged = time.Now()
			c.log.Error("etcd does not answer, trying again", "endpoints", strings.Join(c.cfg.Etcd.Endpoints, ","),
				"err", unreached(ctx, c.cfg.Etcd, err))
		}
		if loop.Pause(ctx, pause); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
