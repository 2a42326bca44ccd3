package etcdconn

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/rota-scheduler/rota/config"
)

// endpoints limits a client to the members of etcd that answer.
//
// A client uses its endpoints in turn. A member may accept connections and never answer, lose its machine, or lose contact with
// the other members. With one such member of three, every third call takes until its deadline. gRPC closes the connection only
// after 13 s, or never if the member still answers pings. So endpoints sends each member a probe that only a majority of etcd can
// answer. It drops a member that does not answer. If no member answers, it keeps all, because the fault may be on this machine.
//
// Requests and watches in progress stay with the dropped member. The channel dropped notifies their owner, which must check them.
//
// A member of another cluster is dropped even if it answers. Otherwise this process would conclude that its own leases and
// records are lost.
type endpoints struct {
	client  *clientv3.Client // the client whose endpoints are chosen
	set     config.Etcd
	cluster func() string // the ID of the cluster that this process used before; "" if there is none
	all     []string
	probes  []*clientv3.Client // one client for each endpoint in all; nil: not made yet
	dropped chan struct{}      // holds a token if a member that the client used was dropped
	key     string             // the key that probes read
	log     hclog.Logger

	silent   []int    // for each endpoint in all, the number of consecutive probes without an answer
	clusters []string // for each endpoint in all, the ID of its cluster; "" if it has never answered
	strange  []string // the endpoints that are dropped because they belong to another cluster
	fewer    bool     // the last poll dropped a member
	relogin  bool     // a member of another cluster may have answered the login of client
}

// The pace of the probes. A member is dropped after about two seconds without an answer. It is used again within a second after
// an answer.
const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = 700 * time.Millisecond
	silentMost   = 2 // a member is dropped after this many consecutive probes without an answer
	// strangeAfter is the number of consecutive probes without an answer from any member of this process's cluster. After that,
	// another cluster may replace it. An election of etcd takes less time.
	strangeAfter = 30
)

func newEndpoints(e config.Etcd, client *clientv3.Client, cluster func() string, log hclog.Logger) *endpoints {
	n := len(e.Endpoints)
	return &endpoints{
		client: client, set: e, cluster: cluster, all: e.Endpoints, probes: make([]*clientv3.Client, n),
		dropped: make(chan struct{}, 1), key: e.Prefix + "/", log: log,
		silent: make([]int, n), clusters: make([]string, n),
	}
}

func (c *endpoints) close() error {
	var errs []error
	for _, p := range c.probes {
		if p != nil {
			errs = append(errs, closeClient(p))
		}
	}
	return errors.Join(errs...)
}

// poll probes all members at the same time, and chooses among them.
func (c *endpoints) poll(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range c.all {
		wg.Go(func() {
			cluster, err := c.probe(ctx, i)
			if c.silent[i]++; !isSilence(err) {
				c.silent[i] = 0
			}
			if err == nil {
				c.clusters[i] = cluster
			}
		})
	}
	wg.Wait()
	if ctx.Err() == nil {
		before := c.client.Endpoints()
		c.choose()
		c.signal(before)
		c.login(ctx)
	}
}

// login makes the client log in again after an endpoint of another cluster was found. A member of that cluster may have answered
// the last login. If that cluster has no users, the client got no token. It might never ask for one: with a certificate, etcd
// refuses its requests for another reason than the missing token. If the login fails, the next poll repeats it.
func (c *endpoints) login(ctx context.Context) {
	if !c.relogin || c.set.Username == "" || c.client.Password == "" {
		return
	}
	try, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := c.client.Auth.Authenticate(try, c.set.Username, c.client.Password)
	if err == nil { // the client takes the token of this login over when it opens a stream
		_, err = clientv3.RetryLeaseClient(c.client).LeaseKeepAlive(try)
	}
	c.relogin = err != nil
}

// signal puts a token into dropped if the client no longer uses a member that it used before. It repeats this at the next poll,
// because the client continues to use the member for a moment.
func (c *endpoints) signal(before []string) {
	now := c.client.Endpoints()
	fewer := slices.ContainsFunc(before, func(ep string) bool { return !slices.Contains(now, ep) })
	if fewer || c.fewer {
		select {
		case c.dropped <- struct{}{}:
		default:
		}
	}
	c.fewer = fewer
}

// probe sends a request to one member, and returns the ID of its cluster. A client with a password can only be made while the
// member answers.
func (c *endpoints) probe(ctx context.Context, i int) (cluster string, err error) {
	if c.probes[i] == nil {
		alone := c.set
		alone.Endpoints = c.all[i : i+1]
		if c.probes[i], err = dial(alone, probeTimeout); err != nil {
			return "", err
		}
	}
	try, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resp, err := c.probes[i].Get(try, c.key, clientv3.WithCountOnly())
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(resp.Header.ClusterId, 16), nil
}

// isSilence reports whether err means that the member did not answer. A refusal is an answer.
func isSilence(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// choose sets the endpoints of the client according to the answers of the members.
func (c *endpoints) choose() {
	own := c.own()
	var use, out, strange []string
	for i, ep := range c.all {
		switch {
		case c.silent[i] >= silentMost:
			out = append(out, ep)
		case c.clusters[i] != "" && c.clusters[i] != own:
			strange = append(strange, ep)
		default:
			use = append(use, ep)
		}
	}
	if len(use) == 0 { // fall back to the silent members of this process's cluster
		use, out = out, nil
	}
	if len(use) == 0 {
		use = c.all
	}
	if !slices.Equal(strange, c.strange) {
		if c.strange = strange; len(strange) > 0 {
			c.relogin = true
			c.log.Error("endpoints of another etcd cluster are left out: remove them from etcd.endpoints",
				"endpoints", strings.Join(strange, ","), "cluster", own)
		}
	}
	if slices.Equal(use, c.client.Endpoints()) {
		return
	}
	c.client.SetEndpoints(use...)
	switch {
	case len(out) > 0:
		c.log.Warn("members of etcd that do not answer are left out", "endpoints", strings.Join(out, ","))
	case len(strange) == 0:
		c.log.Info("all members of etcd are used")
	}
}

// own returns the ID of this process's cluster, "" if no member has answered lately. If a member of the cluster that was used
// before has answered lately, own returns that cluster. Otherwise it returns the cluster of most endpoints; in a tie, the cluster
// of the first endpoint. So if a store is restored as another cluster, it is used after the old one falls silent.
func (c *endpoints) own() (own string) {
	members := make(map[string]int)
	for i, cluster := range c.clusters {
		if cluster != "" && c.silent[i] < strangeAfter {
			members[cluster]++
		}
	}
	if known := c.cluster(); members[known] > 0 {
		return known
	}
	for _, cluster := range c.clusters {
		if members[cluster] > members[own] {
			own = cluster
		}
	}
	return own
}
