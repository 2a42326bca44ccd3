package deploy

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compose is the project of a Compose file in deploy, with its own name and ports.
type compose struct {
	t    *testing.T
	argv []string
	env  []string
}

// newCompose finds Compose: the plugin, or its predecessor. name is that of the file.
func newCompose(t *testing.T, image, name string) *compose {
	t.Helper()
	c := &compose{t: t, argv: []string{"docker", "compose"}, env: []string{"ROTA_IMAGE=" + image}}
	if _, err := tryDocker("compose", "version"); err != nil {
		if _, err := exec.LookPath("docker-compose"); err != nil {
			t.Skip("NOT TESTED: neither `docker compose` nor docker-compose is here")
		}
		c.argv = []string{"docker-compose"}
	}
	file, err := filepath.Abs(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	c.argv = append(c.argv, "--project-name", "rotatest"+strings.ToLower(rand.Text()[:8]), "--file", file)
	return c
}

func (c *compose) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // this also runs after the end of the test
	defer cancel()
	return command(ctx, c.env, append(c.argv, args...)...)
}

func TestComposeFileStartsThreeHealthyReplicas(t *testing.T) {
	image := image(t)
	c := newCompose(t, image, "compose.yaml")
	look := &cluster{t: t, ports: map[string]int{}}
	for _, node := range nodes {
		look.ports[node] = freePort(t)
		c.env = append(c.env, fmt.Sprintf("ROTA_PORT_%s=%d", strings.ToUpper(node), look.ports[node]))
	}
	c.up("--build")
	eventually(t, 2*time.Minute, "all replicas are healthy", func() error {
		ids, err := c.run("ps", "--quiet")
		if err != nil {
			return err
		}
		if n := len(strings.Fields(ids)); n != len(nodes) {
			return fmt.Errorf("%d containers, want %d", n, len(nodes))
		}
		for id := range strings.FieldsSeq(ids) {
			if health, err := tryDocker("inspect", "--format", "{{.State.Health.Status}}", id); err != nil || health != "healthy" {
				return fmt.Errorf("%s is %s (%w)", id, health, err)
			}
		}
		return nil
	})
	for _, node := range nodes { // each has its port and reaches the other two
		v, err := look.client(node).Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Node != node || len(v.Replicas) != len(nodes) || v.Jobs != 3 {
			t.Errorf("at the port of %s: got %s with %d replicas and %d jobs, want %d and 3", node, v.Node, len(v.Replicas), v.Jobs, len(nodes))
		}
	}
}

// up starts the project, and removes it at the end of the test. build says whether to build the image.
func (c *compose) up(build string) {
	c.t.Helper()
	c.t.Cleanup(func() {
		if c.t.Failed() {
			out, _ := c.run("logs", "--tail", "80") // best effort
			c.t.Log(out)
		}
		if _, err := c.run("down", "--volumes"); err != nil {
			c.t.Errorf("clean up: %v", err)
		}
	})
	if _, err := c.run("up", "--detach", build); err != nil {
		c.t.Fatal(err)
	}
}
