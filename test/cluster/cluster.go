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

// Prefix is the prefix of all keys of the clusters of this package.
const Prefix = "/rota"

// Config describes a cluster.
type Config struct {
	Binary   string
	Replicas int // zero means 3
	Jobs     map[string]job.Spec
	Limits   map[string]job.LimitSpec // limits for the jobs
	// Etcd are the endpoints of an external etcd. Empty: the replicas embed one.
	Etcd []string
	// TokenFile is the path of a token with which the cluster's clients prove themselves. Empty: they have none.
	TokenFile string
	// Flags are further settings of each replica, such as "--worker-enabled=false". May be nil.
	Flags func(name string) []string
	Env   []string // further environment variables of each replica and worker
	// Prepare is called before the replicas are started. May be nil.
	Prepare func(*Cluster)
}

// Cluster is a set of replicas and workers, with a recorder of their store.
type Cluster struct {
	Dir      string // for all files of the cluster
	JobFile  string
	Recorder *Recorder
	Client   *client.Client // uses any replica
	// Calls has the requests of all clients that Node.Record returned. If it is not empty, a run with a key that no request has
	// is a violation.
	Calls history.Calls
	// Recovery is how long after the end of a fault a slot may be late because of the fault, for jobs with a Tolerance. Zero
	// means history.DefaultRecovery.
	Recovery time.Duration
	// PutBack are keys whose earlier version the test wrote again: see history.History.
	PutBack map[string]bool
	// Hand are revisions at which the test overwrote records of rota: see history.History.
	Hand map[int64]bool

	// certificates is a directory with ca.crt, client.crt and client.key, for clients of etcd. Empty: etcd has no TLS.
	certificates string

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

// launch does the same as Start, with the replicas that makeReplicas adds to the cluster.
func launch(t testing.TB, cfg Config, makeReplicas func(*Cluster)) *Cluster {
	t.Helper()
	c := &Cluster{t: t, cfg: cfg, Dir: t.TempDir()}
	c.JobFile = filepath.Join(c.Dir, "jobs.json")
	c.WriteJobs(cfg.Jobs)
	c.watchMachine()
	t.Cleanup(c.checkPorts) // runs after the clean-ups that end the processes
	makeReplicas(c)
	if cfg.Prepare != nil {
		cfg.Prepare(c)
	}
	var urls []string
	for _, n := range c.replicas {
		n.Start()
		urls = append(urls, n.URL)
	}
	c.Client = newClient(t, strings.Join(urls, ","), cfg.TokenFile)
	c.Recorder = NewRecorder(t, Prefix, c.Endpoints())
	c.WaitReady()
	Await(t, 30*time.Second, "the jobs are in force", func() bool {
		v, err := c.Client.Cluster(t.Context())
		return err == nil && v.Jobs == len(cfg.Jobs)
	})
	c.ready = time.Now()
	t.Cleanup(c.checkQueues) // runs before the clean-ups that end the processes
	return c
}

// mark returns the environment variable of all processes of the cluster. Watchdogs and jobs inherit it.
func (c *Cluster) mark() string { return "CLUSTER_UNDER_TEST=" + c.Dir }

// checkPorts checks that all ports of the cluster are free and that none of its processes runs.
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

// WriteJobs replaces the job file of all replicas.
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

// Endpoints returns the client URLs of the members of the store.
func (c *Cluster) Endpoints() (endpoints []string) {
	if len(c.cfg.Etcd) > 0 {
		return c.cfg.Etcd
	}
	for _, n := range c.replicas {
		endpoints = append(endpoints, n.Etcd)
	}
	return endpoints
}

// WaitReady waits until every running replica is ready and one of them leads.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	for _, n := range c.replicas {
		if n.Running() {
			n.WaitReady()
		}
	}
	c.Leader()
}

// Leader waits until exactly one replica reports that it leads.
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

// leadsStore reports whether a replica's member reports that it leads etcd.
func (c *Cluster) leadsStore(n *Node) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	st, err := c.Recorder.client.Status(ctx, n.Etcd)
	return err == nil && st.Leader == st.Header.MemberId
}
