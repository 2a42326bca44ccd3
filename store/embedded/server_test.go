package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/leaks"
	"github.com/rota-scheduler/rota/test/poll"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

func newLog(level hclog.Level) (hclog.Logger, *buffer.Buffer) {
	b := new(buffer.Buffer)
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: b}), b
}

func withTimeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func solo(t *testing.T) Config {
	t.Helper()
	return Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", QuotaBytes: 64 << 20, NoSync: true}
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := tryStart(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tryStart runs a member until the test ends, and shows its warnings on failure.
func tryStart(t *testing.T, cfg Config) (*Server, error) {
	t.Helper()
	log, lines := newLog(hclog.Warn)
	s, err := Start(withTimeout(t, 20*time.Second), cfg, log)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, lines)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", cfg.Name, lines)
		}
	})
	return s, nil
}

var eventually = poll.Until

// within polls until ok returns true, for at most limit.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within the deadline: %s", what)
		}
	}
}

func put(t *testing.T, c *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := c.Put(withTimeout(t, 10*time.Second), key, value); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func wantValue(t *testing.T, c *clientv3.Client, key, want string) {
	t.Helper()
	resp, err := c.Get(withTimeout(t, 10*time.Second), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if len(resp.Kvs) != 1 || string(resp.Kvs[0].Value) != want {
		t.Fatalf("get %s: got %v, want %q", key, resp.Kvs, want)
	}
}

// dial returns a client over the network, as other processes use it.
func dial(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSingleMember(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	s := start(t, cfg)
	if s.MemberCount() != 1 || !s.IsLeader() {
		t.Errorf("got %d members, leader %v; want 1, true", s.MemberCount(), s.IsLeader())
	}
	put(t, s.Client(), "a", "in process")
	remote := dial(t, s.Endpoint())
	wantValue(t, remote, "a", "in process")
	put(t, remote, "b", "over the network")
	wantValue(t, s.Client(), "b", "over the network")

	info, err := os.Stat(filepath.Join(cfg.Dir, "member"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("member dir: got %v %v, want mode 0700", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}

	again := start(t, cfg)
	wantValue(t, again.Client(), "a", "in process")
	wantValue(t, again.Client(), "b", "over the network")
}

func TestCreatesDirForOwnerOnly(t *testing.T) {
	t.Parallel()
	cfg := solo(t)
	cfg.Dir = filepath.Join(cfg.Dir, "state", "etcd")
	start(t, cfg)
	info, err := os.Stat(cfg.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v %v, want mode 0700", info.Mode(), err)
	}
}

func TestCloseIsQuickAndIdempotent(t *testing.T) {
	t.Parallel()
	s := start(t, solo(t))
	// A remote watch does not end by itself, and must not delay Close.
	w := dial(t, s.Endpoint()).Watch(withTimeout(t, time.Minute), "k", clientv3.WithCreatedNotify())
	<-w
	local := s.Client().Watch(withTimeout(t, time.Minute), "k", clientv3.WithCreatedNotify())
	<-local

	began := time.Now()
	errs := make(chan error, 3)
	for range 3 {
		go func() { errs <- s.Close() }()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %s", took)
	} else {
		t.Logf("Close took %s", took)
	}
	<-s.Done()
	if err := s.Err(); err != nil {
		t.Errorf("Err after Close: got %v, want nil", err)
	}
	for range local { // the channel must be closed, or this loop hangs
	}
}

func TestCallsDuringCloseNeitherPanicNorHang(t *testing.T) {
	t.Parallel()
	s := start(t, solo(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				var err error
				if i%2 == 0 {
					_, err = s.Client().Get(ctx, "k", clientv3.WithSerializable())
				} else {
					_, err = s.Client().Put(ctx, "k", "v")
				}
				cancel()
				if err != nil {
					return
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
