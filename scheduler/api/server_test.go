package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// start runs a server. It returns the address, a function that stops the server, and a channel with Serve's result.
func start(t *testing.T, back api.Backend, change ...func(*api.Config)) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	cfg := api.DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	ln, err := api.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	s := api.New(cfg, back, hclog.NewNullLogger())
	go func() { done <- s.Serve(ctx, ln) }() // the test receives from done
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return "http://" + ln.Addr().String(), cancel, done
}

func wait(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("serve: got %v, want nil", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not end")
	}
}

func TestListenSaysWhatToDo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cfg := api.DefaultConfig()
	cfg.Listen = ln.Addr().String()
	err = api.New(cfg, api.Backend{}, hclog.NewNullLogger()).Run(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("got %v, want EADDRINUSE", err)
	}
	for _, want := range []string{cfg.Listen, "another rota?", "http.listen"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if _, err := api.Listen("192.0.2.1:80"); err == nil || !strings.Contains(err.Error(), "not one of this machine") {
		t.Errorf("got %v, want an address that is not ours", err)
	}
}

func TestShutdown(t *testing.T) {
	t.Run("ends streams at once", func(t *testing.T) {
		f := newFake()
		url, stop, ended := start(t, f.backend())
		res, err := http.Get(url + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		began := time.Now()
		stop()
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Errorf("stream: got %v, want a proper end", err)
		}
		wait(t, ended)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("took %s, want less than the grace", took)
		}
		if f.watching() != 0 {
			t.Error("the watch goes on")
		}
	})
	t.Run("lets a request finish", func(t *testing.T) {
		f := newFake()
		entered, release := make(chan struct{}), make(chan struct{})
		f.explain = func(context.Context) (api.ExplainView, error) {
			close(entered)
			<-release
			return api.ExplainView{Verdict: "ran"}, nil
		}
		url, stop, ended := start(t, f.backend())
		status := make(chan int, 1)
		go func() {
			res, err := http.Get(url + "/v1/jobs/backup/explain?time=2026-01-01T00:00:00Z")
			if err != nil {
				status <- 0
				return
			}
			res.Body.Close()
			status <- res.StatusCode
		}()
		<-entered
		stop()
		close(release)
		if got := <-status; got != 200 {
			t.Errorf("got %d, want 200", got)
		}
		wait(t, ended)
	})
	t.Run("is bounded", func(t *testing.T) {
		f := newFake()
		entered := make(chan struct{})
		f.explain = func(ctx context.Context) (api.ExplainView, error) {
			close(entered)
			<-ctx.Done()
			return api.ExplainView{}, ctx.Err()
		}
		url, stop, ended := start(t, f.backend(), func(c *api.Config) { c.ShutdownGrace = 30 * time.Millisecond })
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if res, err := http.Get(url + "/v1/jobs/backup/explain?time=2026-01-01T00:00:00Z"); err == nil {
				res.Body.Close()
			}
		}()
		<-entered
		stop()
		wait(t, ended)
		<-answered
	})
}

func TestConfigValidate(t *testing.T) {
	if err := api.DefaultConfig().Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	cfg := api.DefaultConfig()
	cfg.Listen, cfg.Heartbeat = "8470", 0
	err := cfg.Validate()
	if err == nil || !strings.Contains(err.Error(), "http.listen") || !strings.Contains(err.Error(), "heartbeat") {
		t.Errorf("got %v, want both errors", err)
	}
}
