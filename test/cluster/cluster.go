package cluster

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	Limits   map[string]job.LimitSpec // that the jobs may name
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
	// PutBack are keys under which the test put an earlier version of rota's again: see history.History.
	PutBack map[string]bool
	// Hand are revisions at which the test wrote over what is rota's: see history.History.
	Hand map[int64]bool

	ready    time.Time // when the cluster had started
	t        testing.TB
	cfg      Config
	replicas []*Node
	nodes    []*Node // replicas and workers

	mu     sync.Mutex
	faults []history.Fault // guarded by mu
}

// Start starts a cluster and returns when all of its replicas are ready, one leads, and the jobs are in force.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	if cfg.Replicas == 0 {
		cfg.Replicas = 3
	}
	return launch(t, cfg, (*Cluster).makeReplicas)
}

// launch is Start with the replicas that makeReplicas makes.
func launch(t testing.TB, cfg Config, makeReplicas func(*Cluster)) *Cluster {
	t.Helper()
	c := &Cluster{t: t, cfg: cfg, Dir: t.TempDir()}
	c.JobFile = filepath.Join(c.Dir, "jobs.json")
	c.WriteJobs(cfg.Jobs)
	t.Cleanup(c.checkPorts) // runs after the processes' own, which end them
	makeReplicas(c)
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
	t.Cleanup(c.checkQueues) // runs before the processes' own, which end them
	return c
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
	file := map[string]any{"version": 1, "jobs": specs}
	if len(c.cfg.Limits) > 0 {
		file["limits"] = c.cfg.Limits
	}
	writeJobs(c.t, c.JobFile, file)
}

// WriteJobs replaces a job file, in one step as editors do. JSON is YAML.
func WriteJobs(t testing.TB, path string, specs map[string]job.Spec) {
	t.Helper()
	writeJobs(t, path, map[string]any{"version": 1, "jobs": specs})
}

func writeJobs(t testing.TB, path string, file map[string]any) {
	t.Helper()
	text, err := json.MarshalIndent(file, "", "  ")
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

// StoreLeader waits until one of the replicas' members leads etcd, and returns that replica.
func (c *Cluster) StoreLeader() (leader *Node) {
	c.t.Helper()
	Await(c.t, 30*time.Second, "a member leads etcd", func() bool {
		for _, n := range c.replicas {
			if c.leadsStore(n) {
				leader = n
			}
		}
		return leader != nil
	})
	return leader
}

// leadsStore says whether a replica's member says that it leads etcd.
func (c *Cluster) leadsStore(n *Node) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	st, err := c.Recorder.client.Status(ctx, n.Etcd)
	return err == nil && st.Leader == st.Header.MemberId
}
