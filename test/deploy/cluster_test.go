package deploy

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// nodes are the names of the replicas in deploy/examples/replicas.
var nodes = []string{"q1", "q2", "q3"}

// cluster is three containers on their own network.
type cluster struct {
	t     *testing.T
	name  string // prefix of the names of containers and networks
	ports map[string]int
}

// start runs three containers of an image.
func start(t *testing.T, image string) *cluster {
	t.Helper()
	c := &cluster{t: t, name: "rota-test-" + strings.ToLower(rand.Text()[:8]), ports: map[string]int{}}
	t.Cleanup(c.remove)
	docker(t, "network", "create", c.network())
	examples, err := filepath.Abs("../../deploy/examples/replicas")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := filepath.Abs("testdata/jobs")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		c.ports[node] = freePort(t)
		docker(t, "volume", "create", c.container(node))
		docker(t, "run", "--detach", "--init", "--name", c.container(node), "--hostname", node,
			"--network", c.network(), "--network-alias", node, "--publish", fmt.Sprintf("127.0.0.1:%d:8470", c.ports[node]),
			"--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
			"--volume", c.container(node)+":/var/lib/rota",
			"--volume", filepath.Join(examples, node+".yaml")+":/etc/rota/"+node+".yaml:ro",
			"--volume", jobs+":/etc/rota/jobs.d:ro",
			"--env", "ROTA_HISTORY_SUCCESS=100000", // the test checks all runs at the end
			image, "serve", "--config", "/etc/rota/"+node+".yaml")
	}
	return c
}

func (c *cluster) network() string              { return c.name }
func (c *cluster) container(node string) string { return c.name + "-" + node }

// remove removes everything, and prints the containers' logs if the test has failed.
func (c *cluster) remove() {
	for _, node := range nodes {
		if c.t.Failed() {
			if out, err := tryDocker("logs", "--tail", "80", c.container(node)); err == nil {
				c.t.Logf("%s said:\n%s", node, out)
			}
			out, err := tryDocker("exec", c.container(node), "/rota", "health", "--ready")
			c.t.Logf("%s is ready: %s %v", node, out, err)
		}
		for _, args := range [][]string{{"rm", "--force", c.container(node)}, {"volume", "rm", "--force", c.container(node)}} {
			if out, err := tryDocker(args...); err != nil && !strings.Contains(out, "No such") {
				c.t.Errorf("clean up: %v", err)
			}
		}
	}
	if out, err := tryDocker("network", "rm", c.network()); err != nil && !strings.Contains(out, "No such") && !strings.Contains(out, "not found") {
		c.t.Errorf("clean up: %v", err)
	}
}

// client returns a client of the given replicas, or of all.
func (c *cluster) client(names ...string) *client.Client {
	c.t.Helper()
	if len(names) == 0 {
		names = nodes
	}
	var urls []string
	for _, node := range names {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", c.ports[node]))
	}
	cl, err := client.New(client.Config{Servers: strings.Join(urls, ","), Timeout: 2 * time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// healthy returns nil if Docker's health check of every container passes.
func (c *cluster) healthy() error {
	for _, node := range nodes {
		out, err := tryDocker("inspect", "--format", "{{.State.Status}} {{.State.Health.Status}}", c.container(node))
		if err != nil {
			return err
		}
		if out != "running healthy" {
			return fmt.Errorf("%s is %s", node, out)
		}
	}
	return nil
}

// kill ends a container as if its machine had lost power, except for the page cache.
func (c *cluster) kill(node string) {
	c.t.Helper()
	docker(c.t, "kill", "--signal", "KILL", c.container(node))
	eventually(c.t, 10*time.Second, node+" is dead", func() error {
		if state := docker(c.t, "inspect", "--format", "{{.State.Status}}", c.container(node)); state != "exited" {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
}

// cut takes a container off the network. The container keeps running.
func (c *cluster) cut(node string) {
	c.t.Helper()
	docker(c.t, "network", "disconnect", c.network(), c.container(node))
	if state := docker(c.t, "inspect", "--format", "{{.State.Status}} {{len .NetworkSettings.Networks}}", c.container(node)); state != "running 0" {
		c.t.Fatalf("cut off %s: got %q, want it running without a network", node, state)
	}
}

func (c *cluster) mend(node string) {
	c.t.Helper()
	docker(c.t, "network", "connect", "--alias", node, c.network(), c.container(node))
}
