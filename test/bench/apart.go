package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

// apart is a cluster whose nodes are processes of their own, so that each has costs of its own.
type apart struct {
	*client.Client // client of the first node
	list           []member
	processes      []*exec.Cmd
	leader         string  // name of the node that leads
	viewed         *member // a node that does not lead; the only node, if there is no other
}

// one is the process of one node of apart.
func one() benchmark {
	return benchmark{
		name: "node", usage: "only one node of another benchmark, with the settings of the environment, until SIGTERM",
		flags: func(*flag.FlagSet) {},
		run: func(ctx context.Context, _ *options) error {
			set, err := config.LoadSettings("", nil, os.Environ())
			if err != nil {
				return err
			}
			log := hclog.New(&hclog.LoggerOptions{Name: set.Node.Name, Level: hclog.Info, Output: os.Stderr})
			nothing := func(context.Context, handler.Task) error { return nil }
			return node.Run(ctx, node.Config{Settings: set, Handlers: map[string]handler.Func{handlerName: nothing}}, log)
		},
	}
}

// startApart starts the nodes, each in its own process, and returns when all are ready and one leads. Their handler does nothing.
func (o *options) startApart(ctx context.Context, list []member, cfg nodeConfig) (*apart, error) {
	c := &apart{list: list}
	for _, m := range list {
		cmd := exec.CommandContext(ctx, os.Args[0], "node")
		cmd.Env = append(os.Environ(), m.environ(list, cfg)...)
		if o.verbose {
			cmd.Stderr = os.Stderr
		}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.processes = append(c.processes, cmd)
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
		used[i] = usageOf(p.Process.Pid)
	}
	return used
}

// close stops the nodes, and returns their errors.
func (c *apart) close() (err error) {
	for _, p := range c.processes {
		err = errors.Join(err, p.Process.Signal(syscall.SIGTERM))
	}
	for _, p := range c.processes {
		err = errors.Join(err, p.Wait())
	}
	if c.Client != nil {
		c.Client.Close()
	}
	return err
}
