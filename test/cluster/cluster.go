package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
	"github.com/rota-scheduler/rota/test/ports"
)

// Prefix is where the clusters of this package keep their records.
const Prefix = "/rota"

// Config says what a cluster is made of.
type Config struct {
	Binary   string
	Replicas int // 3 if zero
	Jobs     map[string]job.Spec
	// Etcd are the endpoints of an etcd of its own; if empty, the replicas embed one.
	Etcd []string
	// Flags are further settings of each replica, such as "--worker-enabled=false". May be nil.
	Flags func(name string) []string
	// Prepare is called before the replicas are started. May be nil.
	Prepare func(*Cluster)
}

// Cluster is some replicas and workers, with a recorder of their store.
type Cluster struct {
	Dir      string // of everything it keeps
	JobFile  string
	Recorder *Recorder
	Client   *client.Client // asks any replica
	// Calls is what clients of Node.Record asked for. Once there are any, runs with a key that none of them gave are a
	// violation.
	Calls history.Calls
	// Recovery is how long after a fault slots may be late because of it, for jobs of which a test says how late they may
	// be; history.DefaultRecovery if zero.
	Recovery time.Duration

	ready    time.Time // when the cluster had started
	t        testing.TB
	cfg      Config
	replicas []*Node
	nodes    []*Node // replicas and workers

	mu     sync.Mutex
	faults []history.Fault // guarded by mu
}

// Node is a replica or a worker.
type Node struct {
	*Process
	URL    string         // of its API
	Etcd   string         // of its member, for clients; empty for a worker
	Client *client.Client // asks it alone

	cluster *Cluster
	ports   []int
}

// Start starts a cluster and returns when all of its replicas are ready, one leads, and the jobs are in force.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	if cfg.Replicas == 0 {
		cfg.Replicas = 3
	}
	c := &Cluster{t: t, cfg: cfg, Dir: t.TempDir()}
	c.JobFile = filepath.Join(c.Dir, "jobs.json")
	c.WriteJobs(cfg.Jobs)
	t.Cleanup(c.checkPorts) // runs after the processes' own, which end them
	if len(cfg.Etcd) > 0 {
		for i := range cfg.Replicas {
			c.makeReplica(fmt.Sprintf("q%d", i+1))
		}
	} else {
		c.makeReplicas()
	}
	if cfg.Prepare != nil {
		cfg.Prepare(c)
	}
	var urls []string
	for _, n := range c.replicas {
		n.Start()
		urls = append(urls, n.URL)
	}
	c.Client = newClient(t, strings.Join(urls, ","))
	c.Recorder = NewRecorder(t, Prefix, c.Endpoints())
	c.WaitReady()
	Await(t, 30*time.Second, "the jobs are in force", func() bool {
		v, err := c.Client.Cluster(t.Context())
		return err == nil && v.Jobs == len(cfg.Jobs)
	})
	c.ready = time.Now()
	return c
}

func (c *Cluster) makeReplicas() {
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

// serve is the arguments of a replica on this machine.
func (c *Cluster) serve(name string, listen int, etcd ...string) []string {
	return c.serveAt(name, fmt.Sprintf("127.0.0.1:%d", listen), etcd...)
}

// serveAt is the arguments of a replica.
func (c *Cluster) serveAt(name, listen string, etcd ...string) []string {
	args := append([]string{
		"serve", "--node-name=" + name, "--node-data-dir=" + filepath.Join(c.Dir, name), "--http-listen=" + listen,
		"--jobs=" + c.JobFile, "--log-format=text", "--worker-shutdown-grace=3s",
		"--history-success=1000", // the history is read at the end
	}, etcd...)
	if c.cfg.Flags != nil {
		args = append(args, c.cfg.Flags(name)...)
	}
	return args
}

// makeReplica makes a replica that uses an etcd of its own. It is not started.
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
		"--log-format=text", "--worker-shutdown-grace=3s",
	}, flags...))
	n.ports = []int{port}
	n.Start()
	Await(c.t, 20*time.Second, name+" is present", func() bool {
		ws, err := c.Client.Workers(c.t.Context())
		return err == nil && slices.ContainsFunc(ws, func(w api.WorkerView) bool { return w.Name == name })
	})
	return n
}

func (c *Cluster) newNode(name string, listen int, args []string) *Node {
	n := &Node{Process: NewProcess(c.t, c.cfg.Binary, name, args...), URL: fmt.Sprintf("http://127.0.0.1:%d", listen), cluster: c}
	n.Env = []string{c.mark()}
	n.Client = newClient(c.t, n.URL)
	c.nodes = append(c.nodes, n)
	return n
}

func newClient(t testing.TB, servers string) *client.Client {
	cl, err := client.New(client.Config{Servers: servers, Timeout: 3 * time.Second, Transport: &http.Transport{IdleConnTimeout: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Record returns a client that asks this node alone, sends nothing twice, and records what it asks and is told. It may be
// used by one goroutine. Node.Client does not record.
func (n *Node) Record() *history.Client {
	// A connection that is used again is tried again by net/http, for requests that have an idempotency key.
	cl, err := client.New(client.Config{Servers: n.URL, Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		n.t.Fatal(err)
	}
	return n.cluster.Calls.Client(cl)
}

// mark is the variable that all processes of the cluster are started with, and inherit: nannies and jobs, too.
func (c *Cluster) mark() string { return "CLUSTER_UNDER_TEST=" + c.Dir }

// checkPorts sees to it that nothing that the cluster started outlives it.
func (c *Cluster) checkPorts() {
	for _, n := range c.nodes {
		for _, port := range n.ports {
			if !Within(5*time.Second, func() bool { return ports.IsFree(port) }) {
				c.t.Errorf("port %d of %s is still taken after the test", port, n.Name)
			}
		}
	}
	if !Within(15*time.Second, func() bool { return len(Descendants(c.t, c.mark())) == 0 }) {
		c.t.Errorf("processes outlive the test: %q", Descendants(c.t, c.mark()))
	}
}

// WriteJobs replaces the job file that all replicas read.
func (c *Cluster) WriteJobs(specs map[string]job.Spec) {
	c.t.Helper()
	WriteJobs(c.t, c.JobFile, specs)
}

// WriteJobs replaces a job file, in one step as editors do. JSON is YAML.
func WriteJobs(t testing.TB, path string, specs map[string]job.Spec) {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{"version": 1, "jobs": specs}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Replicas lists the replicas.
func (c *Cluster) Replicas() []*Node { return c.replicas }

// Endpoints are the members of the store.
func (c *Cluster) Endpoints() (endpoints []string) {
	if len(c.cfg.Etcd) > 0 {
		return c.cfg.Etcd
	}
	for _, n := range c.replicas {
		endpoints = append(endpoints, n.Etcd)
	}
	return endpoints
}

// WaitReady waits until every replica that runs is ready and one of them leads.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	for _, n := range c.replicas {
		if n.Running() {
			n.WaitReady()
		}
	}
	c.Leader()
}

// WaitReady waits until the node says that it is ready.
func (n *Node) WaitReady() {
	n.t.Helper()
	said := "nothing"
	if !Within(60*time.Second, func() bool {
		if !n.Running() {
			n.t.Fatalf("%s ended instead of becoming ready", n.Name)
		}
		text, ready, err := n.Client.Ready(n.t.Context())
		if err != nil {
			text = err.Error()
		}
		said = text
		return ready
	}) {
		n.t.Fatalf("%s is not ready after a minute; it says:\n%s", n.Name, said)
	}
}

// Leads says whether the replica says that it leads.
func (n *Node) Leads() bool {
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/leader", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Leader waits until one replica, and no other, says that it leads.
func (c *Cluster) Leader() (leader *Node) {
	c.t.Helper()
	Await(c.t, 30*time.Second, "one replica leads", func() bool {
		leader = nil
		for _, n := range c.replicas {
			if !n.Running() || n.isStopped() || !n.Leads() {
				continue
			}
			if leader != nil {
				return false
			}
			leader = n
		}
		return leader != nil
	})
	return leader
}

func (n *Node) isStopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped
}

// Kill kills the node with SIGKILL.
func (n *Node) Kill() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Kill, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGKILL)
	n.Await(5 * time.Second)
}

// Terminate asks the node to stop and waits until it has.
func (n *Node) Terminate() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Stop, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGTERM)
	n.Await(30 * time.Second)
	n.cluster.Heal(n.Name)
}

// Stop stops the node in its tracks, until Cont.
func (n *Node) Stop() {
	n.t.Helper()
	n.cluster.Harm(history.Fault{Kind: history.Pause, Node: n.Name, At: time.Now()})
	n.Signal(syscall.SIGSTOP)
}

// Cont lets a stopped node go on.
func (n *Node) Cont() {
	n.t.Helper()
	n.Signal(syscall.SIGCONT)
	n.cluster.Heal(n.Name)
}

// Harm records a fault that was made.
func (c *Cluster) Harm(f history.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
	c.t.Logf("fault: %v", f)
}

// Heal ends the faults of a node that last.
func (c *Cluster) Heal(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.faults {
		if f := &c.faults[i]; f.Node == node && f.Kind.Lasts() && f.Until.IsZero() {
			f.Until = time.Now()
		}
	}
}

// Outage records that from now on no majority of the store can be reached, and returns what ends that.
func (c *Cluster) Outage() (over func()) {
	c.Harm(history.Fault{Kind: history.Outage, At: time.Now()})
	return func() { c.Heal("") }
}

// Faults returns what was done so far.
func (c *Cluster) Faults() []history.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// Metric returns the value of a metric without labels of a node, 0 if it has none.
func (n *Node) Metric(name string) (value float64) {
	n.t.Helper()
	res, err := http.Get(n.URL + "/metrics")
	if err != nil {
		n.t.Errorf("read metrics of %s: %v", n.Name, err)
		return 0
	}
	defer res.Body.Close()
	var line string
	for {
		if _, err := fmt.Fscanln(res.Body, &line, &value); err != nil && err.Error() == "EOF" {
			return 0
		}
		if line == name {
			return value
		}
		value = 0
	}
}
