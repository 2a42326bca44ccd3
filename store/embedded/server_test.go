package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// TestMain wants no goroutine left. Connections between members may outlive
// Close by five seconds, etcd's read timeout, hence the patience.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); {
			err = goleak.Find() // waits a while by itself
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// logBuffer collects a server's log, which several goroutines write.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newLog(level hclog.Level) (hclog.Logger, *logBuffer) {
	b := new(logBuffer)
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

// eventually polls until ok, because other goroutines decide when.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	// A poll with a deadline.
	for end := time.Now().Add(15 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
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

// dial is a client over the network, as other processes use.
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
	// A remote watch never ends by itself; it must not hold Close up.
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
	for range local { // must be closed, or this hangs
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

func TestPortInUseNamesTheAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().String()
	for _, what := range []string{"client", "peer"} {
		t.Run(what, func(t *testing.T) {
			cfg := solo(t)
			if what == "client" {
				cfg.Client = "http://" + busy
			} else {
				cfg.Peer = "http://" + busy
			}
			_, err := Start(withTimeout(t, 10*time.Second), cfg, hclog.NewNullLogger())
			wantError(t, err, busy, "etcd.embedded."+what)

			cfg.Client, cfg.Peer = "http://127.0.0.1:0", ""
			start(t, cfg) // the failed start must have freed the directory
		})
	}
}

func TestLockedDirIsAnError(t *testing.T) {
	t.Parallel()
	t.Run("held by another rota", func(t *testing.T) {
		cfg := solo(t)
		start(t, cfg)
		_, err := Start(withTimeout(t, 10*time.Second), cfg, hclog.NewNullLogger())
		wantError(t, err, cfg.Dir, fmt.Sprintf("process %d", os.Getpid()))
	})
	t.Run("held by a plain etcd", func(t *testing.T) {
		cfg := solo(t)
		if err := start(t, cfg).Close(); err != nil {
			t.Fatal(err)
		}
		db := filepath.Join(cfg.Dir, "member", "snap", "db")
		f, err := os.OpenFile(db, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { // as bbolt does
			t.Fatal(err)
		}
		_, err = Start(withTimeout(t, 10*time.Second), cfg, hclog.NewNullLogger())
		wantError(t, err, db)
	})
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestStartAloneOfThreeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := trio(t)[0]
	log, lines := newLog(hclog.Info)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, cfg, log)
		failed <- err
	}()
	eventually(t, "says that it waits", func() bool {
		return strings.Contains(lines.String(), "waiting for other members")
	})
	for _, name := range []string{"q2", "q3"} {
		if !strings.Contains(lines.String(), name) {
			t.Errorf("log does not name %s:\n%s", name, lines)
		}
	}
	began := time.Now()
	cancel(cause)
	err := <-failed
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	wantError(t, err, "q2", "q3")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s after cancel", took)
	} else {
		t.Logf("took %s after cancel", took)
	}
	if n := strings.Count(lines.String(), "\n"); n > 5 {
		t.Errorf("log has %d lines, want a handful:\n%s", n, lines)
	}
}
