package node

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/leaks"
	"github.com/rota-scheduler/rota/test/poll"
	"github.com/rota-scheduler/rota/test/ports"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// running is a node that runs in the process of the test.
type running struct {
	*client.Client
	node   *Node
	log    *buffer.Buffer
	reload chan os.Signal
	cancel context.CancelFunc // stops the node without waiting for its end
	end    func() error       // stops the node, and returns the error of Run

	up       chan *Node // receives the node when it answers requests
	ended    chan error // receives the error of Run
	expected bool       // the test expects that Run ends by itself with an error
}

// stopped waits until Run has ended by itself. It checks that the error contains want.
func (r *running) stopped(t testing.TB, want string) {
	t.Helper()
	r.expected = true
	select {
	case err := <-r.ended:
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run: got %v, want %s", err, want)
		}
		r.ended <- err
	case <-time.After(20 * time.Second):
		t.Error("Run goes on")
	}
}

// settings returns settings for a node with an embedded etcd. All ports are free ones.
func settings(t testing.TB, name string) config.Settings {
	t.Helper()
	dir := t.TempDir()
	set, err := config.LoadSettings("", nil, []string{
		"ROTA_NODE_NAME=" + name,
		"ROTA_NODE_DATA_DIR=" + dir,
		"ROTA_HTTP_LISTEN=" + ports.Addr(t),
		"ROTA_ETCD_EMBEDDED_CLIENT=http://" + ports.Addr(t),
		"ROTA_ETCD_EMBEDDED_PEER=http://" + ports.Addr(t),
		"ROTA_ELECTION_TTL=2s",
		"ROTA_WORKER_SHUTDOWN_GRACE=1s",
		"ROTA_WORKER_HTTP_ALLOW=127.0.0.0/8,::1", "ROTA_NOTIFY_HTTP_ALLOW=127.0.0.0/8,::1", // targets are on loopback
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// outside returns settings of a node that uses the etcd at endpoint.
func outside(t testing.TB, name, endpoint string) config.Settings {
	set := settings(t, name)
	set.Etcd.Endpoints, set.Etcd.Embedded = []string{endpoint}, config.Embedded{}
	return set
}

// launch starts a node, and returns before the node answers.
func launch(t testing.TB, cfg Config) *running {
	t.Helper()
	r := &running{log: &buffer.Buffer{}, reload: make(chan os.Signal, 1), up: make(chan *Node, 1)}
	cfg.Reload = r.reload
	cfg.Ready = func(n *Node) { r.up <- n }
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	ended := make(chan error, 1)
	r.ended = ended
	go func() { ended <- Run(ctx, cfg, logger(r.log)) }() // waited for by end
	r.end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("Run does not return")
		}
	})
	t.Cleanup(func() {
		if err := r.end(); err != nil && !r.expected && !t.Failed() {
			t.Errorf("Run: %v", err)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", cfg.Settings.Node.Name, tail(r.log.String(), 6000))
		}
	})
	var err error
	if r.Client, err = client.New(client.Config{Servers: "http://" + cfg.Settings.HTTP.Listen, By: "tester"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Client.Close)
	return r
}

// begin starts a node, and waits until it answers or has ended.
func begin(t testing.TB, cfg Config) *running {
	t.Helper()
	r := launch(t, cfg)
	select {
	case r.node = <-r.up:
	case err := <-r.ended:
		r.ended <- err
	case <-time.After(30 * time.Second):
		t.Fatal("the node is not up")
	}
	return r
}

// start starts a node, and waits until it is ready.
func start(t testing.TB, cfg Config) *running {
	t.Helper()
	r := begin(t, cfg)
	if r.node == nil {
		t.Fatalf("Run: %v", r.end())
	}
	eventually(t, "the node is ready", func() bool {
		_, ok, err := r.Ready(t.Context())
		return err == nil && ok
	})
	return r
}

// lead waits until r is the leader.
func (r *running) lead(t testing.TB) {
	t.Helper()
	eventually(t, "the replica leads", func() bool {
		v, err := r.Cluster(t.Context())
		return err == nil && v.Leader != nil && v.Leader.Node == r.node.set.Node.Name
	})
}

// etcd starts an etcd outside of all nodes, and returns its endpoint.
func etcd(t testing.TB) string {
	t.Helper()
	endpoint, _ := etcdOf(t, embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0"})
	return endpoint
}

// etcdOf starts an etcd that runs until end is called.
func etcdOf(t testing.TB, cfg embedded.Config) (endpoint string, end func()) {
	t.Helper()
	cfg.NoSync = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := embedded.Start(ctx, cfg, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close etcd: %v", err)
		}
	})
	t.Cleanup(end)
	return s.Endpoint(), end
}

func logger(b *buffer.Buffer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: b})
}

var version = api.VersionView{Version: "v0-test", Go: "go"}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

var eventually = poll.Until
