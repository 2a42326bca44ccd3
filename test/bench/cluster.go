package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/store/embedded"
)

// member is one node with its etcd, or its etcd alone.
type member struct {
	name, dir, http, client, peer string
}

// members returns addresses and directories for a new cluster.
func members(dir string, n int) ([]member, error) {
	list := make([]member, n)
	for i := range list {
		m := &list[i]
		m.name = fmt.Sprintf("q%d", i+1)
		m.dir = filepath.Join(dir, m.name)
		for _, addr := range []*string{&m.http, &m.client, &m.peer} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			*addr = l.Addr().String()
			defer l.Close() // hold each port until all are chosen
		}
	}
	return list, nil
}

// nodes returns the members of the measured cluster.
func (o *options) nodes() ([]member, error) { return members(filepath.Join(o.dir, "nodes"), o.members) }

// peers returns the list of members in etcd's format.
func peers(list []member) string {
	if len(list) == 1 {
		return ""
	}
	var parts []string
	for _, m := range list {
		parts = append(parts, m.name+"=http://"+m.peer)
	}
	return strings.Join(parts, ",")
}

// etcds starts the members' etcd without rota.
func etcds(ctx context.Context, list []member) (servers []*embedded.Server, stop func() error, err error) {
	type started struct {
		i   int
		s   *embedded.Server
		err error
	}
	servers = make([]*embedded.Server, len(list))
	all := make(chan started)
	for i, m := range list {
		cfg := embedded.Config{Name: m.name, Dir: filepath.Join(m.dir, "etcd"), Client: "http://" + m.client, Cluster: peers(list)}
		if len(list) > 1 {
			cfg.Peer = "http://" + m.peer
		}
		if err := os.MkdirAll(m.dir, 0o700); err != nil {
			return nil, nil, err
		}
		go func() { // etcds waits for all of them below
			s, err := embedded.Start(ctx, cfg, hclog.NewNullLogger())
			all <- started{i, s, err}
		}()
	}
	for range list {
		s := <-all
		servers[s.i], err = s.s, errors.Join(err, s.err)
	}
	stop = func() (err error) {
		for _, s := range servers {
			if s != nil {
				err = errors.Join(err, s.Close())
			}
		}
		return err
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return servers, stop, nil
}

// cluster is a set of running nodes.
type cluster struct {
	*client.Client // client of the first node
	list           []member
	stop           context.CancelFunc
	ended          chan error
}

// nodeConfig has the settings of a benchmark's nodes that differ from the defaults.
type nodeConfig struct {
	execute  handler.Func // handler of all jobs
	capacity int
	success  int      // kept runs of each job
	extra    []string // further ROTA_… variables
}

// environ returns the settings of the member's node.
func (m *member) environ(list []member, cfg nodeConfig) []string {
	environ := []string{
		"ROTA_NODE_NAME=" + m.name, "ROTA_NODE_DATA_DIR=" + m.dir, "ROTA_HTTP_LISTEN=" + m.http,
		"ROTA_ETCD_EMBEDDED_CLIENT=http://" + m.client, "ROTA_ETCD_EMBEDDED_CLUSTER=" + peers(list),
		"ROTA_WORKER_CAPACITY=" + strconv.Itoa(cfg.capacity), "ROTA_HISTORY_SUCCESS=" + strconv.Itoa(cfg.success),
	}
	if len(list) > 1 {
		environ = append(environ, "ROTA_ETCD_EMBEDDED_PEER=http://"+m.peer)
	}
	return append(environ, cfg.extra...)
}

// start starts the nodes, and returns when all are ready and one leads.
func (o *options) start(ctx context.Context, list []member, cfg nodeConfig) (*cluster, error) {
	log := io.Discard
	if o.verbose {
		log = os.Stderr
	}
	ctx, stop := context.WithCancel(ctx)
	c := &cluster{list: list, stop: stop, ended: make(chan error, len(list))}
	for _, m := range list {
		set, err := config.LoadSettings("", nil, m.environ(list, cfg))
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		go func() { // close waits for the goroutine
			c.ended <- node.Run(ctx, node.Config{Settings: set, Handlers: map[string]handler.Func{handlerName: cfg.execute}},
				hclog.New(&hclog.LoggerOptions{Name: m.name, Level: hclog.Info, Output: log}))
		}()
	}
	var err error
	if c.Client, err = client.New(client.Config{Servers: "http://" + list[0].http, By: "bench"}); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.awaitLeader(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) awaitLeader(ctx context.Context) error {
	for {
		v, err := c.Cluster(ctx)
		if err == nil && v.Ready && v.Leader != nil && len(v.Replicas) == len(c.list) && v.Workers == len(c.list) && c.leads(ctx) {
			return nil
		}
		select {
		case err := <-c.ended:
			c.ended <- err
			return fmt.Errorf("a node ended: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// leads reports whether one of the nodes dispatches. A node that has just won the election does not dispatch before it has read
// all jobs.
func (c *cluster) leads(ctx context.Context) bool {
	for _, m := range c.list {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.http+"/leader", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return true
		}
	}
	return false
}

// close stops the nodes, and returns their errors.
func (c *cluster) close() (err error) {
	c.stop()
	for range cap(c.ended) {
		select {
		case e := <-c.ended:
			err = errors.Join(err, e)
		case <-time.After(time.Minute):
			return errors.Join(err, errors.New("a node does not stop"))
		}
	}
	return err
}
