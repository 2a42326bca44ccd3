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

// endpoints keeps a client to those members of etcd that answer.
//
// A client uses its endpoints in turn. A member can accept connections without answering, lose its machine, or be cut off from
// the others. Each such member costs every third call its deadline: gRPC closes the connection after 13 s, or never if the
// member still answers pings. So endpoints sends each member a request of its own that only etcd's majority can answer. A
// member that does not answer is dropped. If none answers, all are kept, because the fault may be on this side.
//
// Requests and watches under way stay with the dropped member. The channel dropped tells their owner to check them.
//
// A member of another cluster is dropped even though it answers: this process would take its own leases and records for lost.
type endpoints struct {
	client  *clientv3.Client // whose endpoints are chosen
	set     config.Etcd
	cluster func() string // the ID of the cluster that this process used before; "" if there is none
	all     []string
	probes  []*clientv3.Client // one client for each of all; nil: not made yet
	dropped chan struct{}      // holds a token after a member that was used has been dropped
	key     string             // the key that probes read
	log     hclog.Logger

	silent   []int    // for each of all, the number of probes in a row without an answer
	clusters []string // for each of all, the ID of its cluster; "" if it has never answered
	strange  []string // the endpoints that are dropped because they belong to another cluster
	fewer    bool     // the last poll dropped a member
}

// The pace of the probes. A member is dropped after about two seconds, and used again within one.
const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = 700 * time.Millisecond
	silentMost   = 2 // probes in a row without an answer
	// strangeAfter is the same for all members of this process's cluster, after which another cluster may replace it. An
	// election of etcd takes less time.
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
			errs = append(errs, ignoreCanceled(p.Close()))
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
	}
}

// signal fills dropped if the client used a member before that it uses no more. It does so at the next poll again, because the
// client goes on using the member for a moment.
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

// probe sends a request to one member, and returns the ID of its cluster. A client with a password can only be made while its
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

// choose sets the endpoints of the client by the answers so far.
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
	if len(use) == 0 { // the silent members of this process's cluster
		use, out = out, nil
	}
	if len(use) == 0 {
		use = c.all
	}
	if !slices.Equal(strange, c.strange) {
		if c.strange = strange; len(strange) > 0 {
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

// own returns the ID of this process's cluster, "" if no member has answered lately. It is the cluster of the last
// time, if a member of it has answered lately. Otherwise it is the cluster of most endpoints, and the first of them in a tie.
// So a store that was restored as another cluster is used once the old one is silent.
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
