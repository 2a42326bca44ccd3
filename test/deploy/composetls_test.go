package deploy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// secured is a project of one of the Compose files with TLS.
type secured struct {
	*compose
	dir   string // certificates and data
	ports map[string]int
}

// startSecured starts a Compose file with the jobs of this test, and waits until its containers are healthy.
func startSecured(t *testing.T, image, file string, env ...string) *secured {
	t.Helper()
	s := &secured{compose: newCompose(t, image, file), dir: filepath.Join(t.TempDir(), "compose"), ports: map[string]int{}}
	jobs, err := filepath.Abs("testdata/jobs")
	if err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, env...)
	s.env = append(s.env, "ROTA_DIR="+s.dir, "ROTA_JOBS="+jobs, fmt.Sprintf("ROTA_USER=%d:%d", os.Getuid(), os.Getgid()))
	for _, node := range nodes {
		s.ports[node] = freePort(t)
		s.env = append(s.env, fmt.Sprintf("ROTA_PORT_%s=%d", strings.ToUpper(node), s.ports[node]))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := command(ctx, nil, "../../deploy/compose-prepare.sh", "../../bin/image/rota", s.dir); err != nil {
		t.Fatal(err)
	}
	s.up("--no-build")
	return s
}

// tls returns the configuration of a client with the certificate of a user; "" means without a certificate.
func (s *secured) tls(user string) *tls.Config {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "pki", "ca.crt"))
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	cfg.RootCAs.AppendCertsFromPEM(text)
	if user != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(s.dir, "pki", user+".crt"), filepath.Join(s.dir, "pki", user+".key"))
		if err != nil {
			s.t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

// client returns a client of one replica, with the certificate of a user.
func (s *secured) client(scheme, node, user string) *client.Client {
	s.t.Helper()
	cl, err := client.New(client.Config{
		Servers: fmt.Sprintf("%s://127.0.0.1:%d", scheme, s.ports[node]), Timeout: 2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: s.tls(user), DisableKeepAlives: true},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return cl
}

// awaitHealthy waits until Docker's health check of each of these services passes.
func (s *secured) awaitHealthy(services ...string) {
	s.t.Helper()
	eventually(s.t, 2*time.Minute, "the services are healthy", func() error {
		for _, service := range services {
			id, err := s.run("ps", "--quiet", service)
			if err != nil {
				return err
			}
			if health, err := tryDocker("inspect", "--format", "{{.State.Health.Status}}", id); err != nil || health != "healthy" {
				return fmt.Errorf("%s is %s (%w)", service, health, err)
			}
		}
		return nil
	})
}

// refuses checks that a replica answers neither plain requests nor clients without a certificate or a role.
func (s *secured) refuses(node string) {
	s.t.Helper()
	for _, tt := range []struct{ name, scheme, user string }{
		{"a plain request", "http", ""}, {"a client without a certificate", "https", ""}, {"a certificate without a role", "https", node},
	} {
		if v, err := s.client(tt.scheme, node, tt.user).Cluster(s.t.Context()); err == nil {
			s.t.Errorf("%s answers %s with %d jobs", node, tt.name, v.Jobs)
		}
	}
}

// runs waits until n runs whose slots are after at have succeeded.
func (s *secured) runs(node string, at time.Time, n int) {
	s.t.Helper()
	cl := s.client("https", node, "admin")
	eventually(s.t, time.Minute, fmt.Sprintf("%d slots have run", n), func() error {
		got := 0
		for r, err := range cl.AllRuns(s.t.Context(), client.RunFilter{Job: tick, Limit: 1000}) {
			if err != nil {
				return err
			}
			if r.Slot.After(at) && r.State == job.Succeeded {
				got++
			}
		}
		if got < n {
			return fmt.Errorf("got %d, want %d", got, n)
		}
		return nil
	})
}

func TestComposeWithMutualTLS(t *testing.T) {
	s := startSecured(t, image(t), "compose-tls.yaml")
	s.awaitHealthy(nodes...)
	s.runs("q1", time.Time{}, 5)
	for _, node := range nodes {
		v, err := s.client("https", node, "admin").Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Node != node || len(v.Replicas) != len(nodes) {
			t.Errorf("at the port of %s: got %s with %d replicas, want %d", node, v.Node, len(v.Replicas), len(nodes))
		}
		s.refuses(node)
	}
}

func TestComposeWithAnExternalEtcd(t *testing.T) {
	rota := image(t)
	s := startSecured(t, rota, "compose-etcd.yaml", "ETCD_IMAGE="+etcdImage(t))
	s.awaitHealthy("q1", "q2", "w1")
	s.runs("q1", time.Time{}, 5)
	v, err := s.client("https", "q2", "admin").Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Store.Members) != 3 || len(v.Replicas) != 2 || v.Workers != 3 {
		t.Errorf("got %d members of etcd, %d replicas, %d workers; want 3, 2, 3", len(v.Store.Members), len(v.Replicas), v.Workers)
	}
	s.refuses("q1")
	if _, err := s.run("kill", "-s", "SIGKILL", "etcd-2"); err != nil {
		t.Fatal(err)
	}
	s.runs("q1", time.Now(), 5) // the killed member restarts, or does not: two are enough
}

// etcdImage builds an image of the etcd whose modules rota uses, with its binary where the official image has it.
func etcdImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	// With the flags of the image of rota, both share the compiled packages.
	build := []string{"go", "build", "-trimpath", "-pgo=../../cmd/rota/default.pgo", "-o", filepath.Join(dir, "etcd"), "go.etcd.io/etcd/server/v3"}
	if _, err := command(ctx, []string{"CGO_ENABLED=0"}, build...); err != nil {
		t.Fatal(err)
	}
	files.Write(t, filepath.Join(dir, "Dockerfile"), "FROM scratch\nCOPY etcd /usr/local/bin/etcd\n")
	name := strings.Replace(newImageName(), "rota-test", "rota-test-etcd", 1)
	t.Cleanup(func() { _, _ = tryDocker("image", "rm", "--force", name) })
	if _, err := command(ctx, nil, "docker", "build", "--tag", name, dir); err != nil {
		t.Fatal(err)
	}
	return name
}
