package node

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
// A client takes one endpoint after the other. A member that takes connections and does not answer, or whose machine has
// gone without a word, or that is cut off from the others, costs every third call its deadline: gRPC gives such a connection
// up after 13 seconds, and one on which it can ping never. So each member is asked for itself what only the majority can
// tell, and left out while it does not. When none answers, all are kept: then it is not for us to say whose fault that is.
// What is under way stays where it is: who waits for an answer, or watches, learns of it by heed.
//
// One that answers and belongs to another cluster is left out as well: leases and records that it does not know would be taken for
// lost.
type endpoints struct {
	client *clientv3.Client // whose endpoints are chosen
	set    config.Etcd
	known  func() string // the cluster that this process has seen before, as store.Observation has it; "" if none
	all    []string
	probes []*clientv3.Client // one for each of all; nil: there is none yet
	left   chan struct{}      // holds one when a member that was used has been left out
	key    string             // that is asked for
	log    hclog.Logger

	silent  []int    // for each of all, probes in a row without an answer
	cluster []string // for each of all, what it belongs to; "" if it has never said so
	strange []string // those that are left out since they belong to another cluster
	fewer   bool     // a member was left out at the last look
}

// The pace of the probes: a member is left out after about two seconds, and taken back within one.
const (
	chooseEvery   = 500 * time.Millisecond
	chooseTimeout = 700 * time.Millisecond
	chooseAfter   = 2  // probes in a row without an answer
	strangeAfter  = 30 // the same of all members of our own cluster, until another one may be ours: longer than etcd takes to elect
)

func chooseEndpoints(e config.Etcd, client *clientv3.Client, known func() string, log hclog.Logger) *endpoints {
	n := len(e.Endpoints)
	return &endpoints{
		client: client, set: e, known: known, all: e.Endpoints, probes: make([]*clientv3.Client, n),
		left: make(chan struct{}, 1), key: e.Prefix + "/", log: log,
		silent: make([]int, n), cluster: make([]string, n),
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

// run chooses until ctx ends.
func (c *endpoints) run(ctx context.Context) error {
	for ctx.Err() == nil {
		c.look(ctx)
		pause(ctx, chooseEvery)
	}
	return nil
}

// heed calls doubt whenever a member that was used has been left out, until ctx ends.
func (c *endpoints) heed(ctx context.Context, doubt func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.left:
			doubt()
		}
	}
}

// look probes all members side by side, and chooses.
func (c *endpoints) look(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range c.all {
		wg.Go(func() {
			cluster, err := c.probe(ctx, i)
			if c.silent[i]++; !mute(err) {
				c.silent[i] = 0
			}
			if err == nil {
				c.cluster[i] = cluster
			}
		})
	}
	wg.Wait()
	if ctx.Err() == nil {
		before := c.client.Endpoints()
		c.choose()
		c.tell(before)
	}
}

// tell has it heeded that a member that was used before has been left out: twice, since the client goes on for a moment as it did.
func (c *endpoints) tell(before []string) {
	now := c.client.Endpoints()
	fewer := slices.ContainsFunc(before, func(ep string) bool { return !slices.Contains(now, ep) })
	if fewer || c.fewer {
		select {
		case c.left <- struct{}{}:
		default:
		}
	}
	c.fewer = fewer
}

// probe asks one member, and returns which cluster it belongs to. A client that logs in can be made only while its member answers.
func (c *endpoints) probe(ctx context.Context, i int) (cluster string, err error) {
	if c.probes[i] == nil {
		alone := c.set
		alone.Endpoints = c.all[i : i+1]
		if c.probes[i], err = dial(alone, chooseTimeout); err != nil {
			return "", err
		}
	}
	try, cancel := context.WithTimeout(ctx, chooseTimeout)
	defer cancel()
	resp, err := c.probes[i].Get(try, c.key, clientv3.WithCountOnly())
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(resp.Header.ClusterId, 16), nil
}

// mute says whether an error means that nobody is there who could answer. A refusal is an answer.
func mute(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (c *endpoints) choose() {
	own := c.own()
	var use, out, strange []string
	for i, ep := range c.all {
		switch {
		case c.silent[i] >= chooseAfter:
			out = append(out, ep)
		case c.cluster[i] != "" && c.cluster[i] != own:
			strange = append(strange, ep)
		default:
			use = append(use, ep)
		}
	}
	if len(use) == 0 { // our own, though they are silent
		use, out = out, nil
	}
	if len(use) == 0 {
		use = c.all
	}
	if !slices.Equal(strange, c.strange) {
		if c.strange = strange; len(strange) > 0 {
			c.log.Error("endpoints of another etcd cluster are left out: they do not belong into etcd.endpoints",
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

// own is the cluster that is ours: the one that was seen before if any member of it answered lately, or else that of most of those
// that did, of the first in a tie; "" if none has. When a store is restored as another cluster, nobody answers for the old one.
func (c *endpoints) own() (own string) {
	members := make(map[string]int)
	for i, cluster := range c.cluster {
		if cluster != "" && c.silent[i] < strangeAfter {
			members[cluster]++
		}
	}
	if known := c.known(); members[known] > 0 {
		return known
	}
	for _, cluster := range c.cluster {
		if members[cluster] > members[own] {
			own = cluster
		}
	}
	return own
}
