package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// apart is a cluster whose nodes are processes of their own, so that each has costs of its own.
type apart struct {
	*client.Client // client of the first node
	list           []member
	processes      []*process
	leader         string  // name of the node that leads
	viewed         *member // a node that does not lead; the only node, if there is no other
}

// startApart starts the nodes, each in its own process, and returns when all are ready and one leads. Their handler does nothing.
func (o *options) startApart(ctx context.Context, list []member, cfg nodeConfig) (*apart, error) {
	c := &apart{list: list}
	for _, m := range list {
		p, err := single{m, m.environ(list, cfg)}.spawn(ctx, o)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.processes = append(c.processes, p)
	}
	var err error
	if c.Client, err = client.New(client.Config{Servers: "http://" + list[0].http, By: "bench"}); err != nil {
		return nil, errors.Join(err, c.close())
	}
	all := &cluster{Client: c.Client, list: list, ended: make(chan error, 1)}
	if err := all.awaitLeader(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	v, err := c.Cluster(ctx)
	if err != nil || v.Leader == nil {
		return nil, errors.Join(err, errors.New("there is no leader"), c.close())
	}
	c.leader, c.viewed = v.Leader.Node, &list[0]
	if len(list) > 1 && c.leader == list[0].name {
		c.viewed = &list[1]
	}
	return c, nil
}

// usage returns the processor time of each node.
func (c *apart) usage() []time.Duration {
	used := make([]time.Duration, len(c.processes))
	for i, p := range c.processes {
		used[i] = usageOf(p.cmd.Process.Pid)
	}
	return used
}

// close stops the nodes, and returns their errors.
func (c *apart) close() error {
	var all sync.WaitGroup
	errs := make([]error, len(c.processes))
	for i, p := range c.processes { // together, since a member does not end in good order without the others
		all.Go(func() { errs[i] = p.stop() })
	}
	all.Wait()
	if c.Client != nil {
		c.Client.Close()
	}
	return errors.Join(errs...)
}
