package cluster

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/test/ports"
)

// makeReplicas makes the replicas on this machine without starting them.
func (c *Cluster) makeReplicas() {
	if len(c.cfg.Etcd) > 0 {
		for i := range c.cfg.Replicas {
			c.makeReplica(fmt.Sprintf("q%d", i+1))
		}
		return
	}
	ports := ports.Free(c.t, 3*c.cfg.Replicas)
	var members []string
	for i := range c.cfg.Replicas {
		members = append(members, fmt.Sprintf("q%d=http://127.0.0.1:%d", i+1, ports[3*i]))
	}
	for i := range c.cfg.Replicas {
		name := fmt.Sprintf("q%d", i+1)
		peer, member, listen := ports[3*i], ports[3*i+1], ports[3*i+2]
		n := c.newNode(name, listen, c.serve(name, listen,
			fmt.Sprintf("--etcd-embedded-client=http://127.0.0.1:%d", member),
			fmt.Sprintf("--etcd-embedded-peer=http://127.0.0.1:%d", peer),
			"--etcd-embedded-cluster="+strings.Join(members, ","),
		))
		n.Etcd = fmt.Sprintf("http://127.0.0.1:%d", member)
		n.ports = []int{peer, member, listen}
		c.replicas = append(c.replicas, n)
	}
}

// The targets of the tests are on this machine, which jobs and notifiers may not reach by default.
const (
	allowWorker = "--worker-http-allow=127.0.0.0/8,::1"
	allowNotify = "--notify-http-allow=127.0.0.0/8,::1"
)

// serve returns the arguments of a replica on this machine.
func (c *Cluster) serve(name string, listen int, etcd ...string) []string {
	return c.serveAt(name, fmt.Sprintf("127.0.0.1:%d", listen), etcd...)
}

// serveAt returns the arguments of a replica.
func (c *Cluster) serveAt(name, listen string, etcd ...string) []string {
	args := append([]string{
		"serve", "--node-name=" + name, "--node-data-dir=" + filepath.Join(c.Dir, name), "--http-listen=" + listen,
		"--jobs=" + c.JobFile, "--log-format=text", "--worker-shutdown-grace=3s", allowWorker, allowNotify,
		"--history-success=1000", // the judge needs the history
	}, etcd...)
	if !strings.HasPrefix(listen, "127.") {
		args = append(args, "--insecure") // the network belongs to the test
	}
	if c.cfg.Flags != nil {
		args = append(args, c.cfg.Flags(name)...)
	}
	return args
}

// makeReplica makes a replica with an external etcd, without starting it.
func (c *Cluster) makeReplica(name string) *Node {
	c.t.Helper()
	listen := ports.Free(c.t, 1)[0]
	n := c.newNode(name, listen, c.serve(name, listen, "--etcd-endpoints="+strings.Join(c.cfg.Etcd, ",")))
	n.ports = []int{listen}
	c.replicas = append(c.replicas, n)
	return n
}

// AddWorker starts a `rota worker` that reaches the store over the network.
func (c *Cluster) AddWorker(name string, flags ...string) *Node {
	c.t.Helper()
	port := ports.Free(c.t, 1)[0]
	n := c.newNode(name, port, append([]string{
		"worker", "--node-name=" + name, "--node-data-dir=" + filepath.Join(c.Dir, name),
		fmt.Sprintf("--http-listen=127.0.0.1:%d", port), "--etcd-endpoints=" + strings.Join(c.Endpoints(), ","),
		"--log-format=text", "--worker-shutdown-grace=3s", allowWorker,
	}, flags...))
	n.ports = []int{port}
	c.t.Cleanup(c.checkQueues) // runs before the clean-up that ends the worker
	n.Start()
	Await(c.t, 20*time.Second, name+" is present", func() bool {
		ws, err := c.Client.Workers(c.t.Context())
		return err == nil && slices.ContainsFunc(ws, func(w api.WorkerView) bool { return w.Name == name })
	})
	return n
}

// StartVia starts a worker again, with another endpoint of etcd, such as a proxy.
func (n *Node) StartVia(endpoint string) {
	n.t.Helper()
	n.Terminate()
	n.reachVia(endpoint)
	n.Start()
	n.WaitReady()
}

// reachVia lets the next process of the node reach etcd at another endpoint.
func (n *Node) reachVia(endpoint string) {
	n.Args = slices.DeleteFunc(n.Args, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-endpoints=") })
	n.Args = append(n.Args, "--etcd-endpoints="+endpoint)
}
