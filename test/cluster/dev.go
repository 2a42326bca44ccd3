package cluster

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/ports"
)

// The ports of the first replica of `rota dev`, which are fixed.
const (
	devPort = 8470
	devEtcd = 23790
)

// StartDev starts one replica as `rota dev` does it. It waits for another `rota dev` on this machine to end.
func StartDev(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c := &Cluster{t: t, cfg: cfg, Dir: t.TempDir()}
	c.JobFile = filepath.Join(c.Dir, "jobs.json")
	c.WriteJobs(cfg.Jobs)
	for _, port := range []int{devPort, devEtcd} {
		Await(t, time.Minute, fmt.Sprintf("port %d is free: who uses it?", port), func() bool { return ports.IsFree(port) })
	}
	t.Cleanup(c.checkPorts) // runs after the clean-up that ends the process
	n := c.newNode("q1", devPort, []string{"dev", "--jobs", c.JobFile, "--data-dir", filepath.Join(c.Dir, "data"), "--log-level=info"})
	n.Etcd = fmt.Sprintf("http://127.0.0.1:%d", devEtcd)
	n.ports = []int{devPort, devEtcd}
	c.replicas = []*Node{n}
	c.Client = n.Client
	n.Start()
	c.Recorder = NewRecorder(t, Prefix, c.Endpoints())
	c.WaitReady()
	c.ready = time.Now()
	return c
}
