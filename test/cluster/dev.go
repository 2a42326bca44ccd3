package cluster

import (
	"fmt"
	"os"
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
	data := filepath.Join(c.Dir, "data")
	n := c.newNode("q1", devPort, []string{"dev", "--jobs", c.JobFile, "--data-dir", data, "--log-level=info"})
	n.Env = append(n.Env, "XDG_STATE_HOME="+c.Dir)
	n.Client = newClient(t, n.URL, filepath.Join(data, "token"))
	n.Etcd = fmt.Sprintf("https://127.0.0.1:%d", devEtcd)
	c.certificates = filepath.Join(data, "tls")
	n.ports = []int{devPort, devEtcd}
	c.replicas = []*Node{n}
	c.Client = n.Client
	n.Start()
	Await(t, time.Minute, "rota dev has a certificate for clients", func() bool {
		_, err := os.Stat(filepath.Join(c.certificates, "client.crt"))
		return err == nil
	})
	c.Recorder = resume(t, Prefix, c.Endpoints(), nil, 0, c.certificates)
	c.WaitReady()
	c.ready = time.Now()
	return c
}
