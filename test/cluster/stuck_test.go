package cluster

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// playStuck is a worker with a Go handler whose first attempts never end, whatever they are told.
func playStuck() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, err := config.LoadSettings("", nil, []string{
		"ROTA_NODE_NAME=stuck", "ROTA_NODE_DATA_DIR=" + os.Getenv("STUCK_DIR"), "ROTA_HTTP_LISTEN=127.0.0.1:0",
		"ROTA_ETCD_ENDPOINTS=" + os.Getenv("STUCK_ETCD"),
	})
	if err != nil {
		return err
	}
	return node.Run(ctx, node.Config{
		Role: node.WorkerOnly, Settings: settings,
		Handlers: map[string]handler.Func{"stuck": func(_ context.Context, t handler.Task) error {
			if t.Attempt == 1 {
				select {}
			}
			return nil
		}},
	}, hclog.New(&hclog.LoggerOptions{Level: hclog.Info}))
}

// TestStuckRun gives a run to a worker that neither ends it nor dies. The leader asks for its end, gives the attempt up, and
// tries again. It takes as long as the leader is patient.
func TestStuckRun(t *testing.T) {
	row(t)
	if os.Getenv("ROTA_FAULTS") != "all" {
		t.Skip("takes more than three minutes: set ROTA_FAULTS=all")
	}
	t.Parallel()
	c := Start(t, Config{Binary: binary, Replicas: 1, Flags: idle, Jobs: map[string]job.Spec{"stuck": {
		Handler: "stuck", Timeout: job.Duration(time.Second), KillGrace: job.Duration(time.Second),
		Retry: &job.Retry{Max: 1, Min: job.Duration(time.Second)},
	}}})
	w := NewProcess(t, os.Args[0], "stuck")
	w.Env = []string{
		c.mark(), roleVariable + "=stuck", "STUCK_DIR=" + filepath.Join(c.Dir, "stuck"), "STUCK_ETCD=" + strings.Join(c.Endpoints(), ","),
	}
	w.Start()
	submit(t, c, "stuck", api.RunRequest{})
	Await(t, 20*time.Second, "the run executes", func() bool { return onlyRun(t, c, "stuck").State == job.Running })
	began := time.Now()
	Await(t, 2*time.Minute, "the leader asks for its end", func() bool { return strings.Contains(onlyRun(t, c, "stuck").Reason, "asked to end it") })
	t.Logf("the leader asked for the end after %v", time.Since(began).Round(time.Second))
	Await(t, 4*time.Minute, "the attempt is given up", func() bool { return len(onlyRun(t, c, "stuck").Attempts) > 0 })
	t.Logf("the attempt was given up after %v", time.Since(began).Round(time.Second))
	Await(t, 20*time.Second, "the run is tried again", func() bool { return onlyRun(t, c, "stuck").State.Terminal() })
	r := onlyRun(t, c, "stuck")
	if r.State != job.Succeeded || r.Attempt != 2 || r.Attempts[0].State != job.TimedOut || r.Token <= r.Attempts[0].Token {
		t.Errorf("run: got %s after attempt %d with token %d, want succeeded with the second after a timeout: %+v",
			r.State, r.Attempt, r.Token, r.Attempts)
	}
	if !w.Running() {
		t.Error("the worker has ended: the fault did not bite")
	}
	c.Check(func() []history.Effect { return nil }, nil, func(j *history.Job) { j.Effects = false })
}
