package node

import (
	"context"
	"errors"
	"slices"
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
type endpoints struct {
	client *clientv3.Client // whose endpoints are chosen
	set    config.Etcd
	all    []string
	probes []*clientv3.Client // one for each of all; nil: there is none yet
	key    string             // that is asked for
	log    hclog.Logger
}

// The pace of the probes: a member is left out after about two seconds, and taken back within one.
const (
	chooseEvery   = 500 * time.Millisecond
	chooseTimeout = 700 * time.Millisecond
	chooseAfter   = 2 // probes in a row without an answer
)

func chooseEndpoints(e config.Etcd, client *clientv3.Client, log hclog.Logger) *endpoints {
	return &endpoints{
		client: client, set: e, all: e.Endpoints, probes: make([]*clientv3.Client, len(e.Endpoints)), key: e.Prefix + "/", log: log,
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
	silent := make([]int, len(c.all)) // probes in a row without an answer
	for ctx.Err() == nil {
		for i, answers := range c.ask(ctx) {
			if silent[i]++; answers {
				silent[i] = 0
			}
		}
		if ctx.Err() == nil {
			c.choose(silent)
		}
		pause(ctx, chooseEvery)
	}
	return nil
}

// ask probes all members side by side.
func (c *endpoints) ask(ctx context.Context) []bool {
	answers := make([]bool, len(c.all))
	var wg sync.WaitGroup
	for i := range c.all {
		wg.Go(func() { answers[i] = !mute(c.probe(ctx, i)) })
	}
	wg.Wait()
	return answers
}

// probe asks one member. A client that logs in can be made only while its member answers.
func (c *endpoints) probe(ctx context.Context, i int) (err error) {
	if c.probes[i] == nil {
		alone := c.set
		alone.Endpoints = c.all[i : i+1]
		if c.probes[i], err = dial(alone, chooseTimeout); err != nil {
			return err
		}
	}
	try, cancel := context.WithTimeout(ctx, chooseTimeout)
	defer cancel()
	_, err = c.probes[i].Get(try, c.key, clientv3.WithCountOnly())
	return err
}

// mute says whether an error means that nobody is there who could answer. A refusal is an answer.
func mute(err error) bool {
	switch grpcstatus.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (c *endpoints) choose(silent []int) {
	var use, out []string
	for i, ep := range c.all {
		if silent[i] < chooseAfter {
			use = append(use, ep)
		} else {
			out = append(out, ep)
		}
	}
	if len(use) == 0 {
		use, out = c.all, nil
	}
	if slices.Equal(use, c.client.Endpoints()) {
		return
	}
	c.client.SetEndpoints(use...)
	if len(out) > 0 {
		c.log.Warn("members of etcd that do not answer are left out", "endpoints", strings.Join(out, ","))
	} else {
		c.log.Info("all members of etcd are used")
	}
}
