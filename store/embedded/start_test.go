package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

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
			t.Errorf("error %q does not contain %q", err, part)
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
	eventually(t, "the log says that the member waits", func() bool {
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
