package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// The leader of TestStuckRun waits for these times: until it asks an attempt that continues after its timeout to end, and then
// until it abandons the attempt. A release waits for minutes and has no setting for it.
const (
	stopMargin   = time.Second
	stopPatience = 3 * time.Second
)

// playReplica is `rota serve` with the shorter times above.
func playReplica() error {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(os.Args[2:]); err != nil { // os.Args[1] is the command's name
		return err
	}
	settings, err := config.LoadSettings("", flags, nil)
	if err != nil {
		return err
	}
	return playNode(node.Config{Role: node.Replica, Settings: settings, StopMargin: stopMargin, StopPatience: stopPatience})
}

// playStuck is a worker with a Go handler whose first attempts never end.
func playStuck() error {
	settings, err := config.LoadSettings("", nil, []string{
		"ROTA_NODE_NAME=stuck", "ROTA_NODE_DATA_DIR=" + os.Getenv("STUCK_DIR"), "ROTA_HTTP_LISTEN=127.0.0.1:0",
		"ROTA_ETCD_ENDPOINTS=" + os.Getenv("STUCK_ETCD"),
	})
	if err != nil {
		return err
	}
	return playNode(node.Config{
		Role: node.WorkerOnly, Settings: settings,
		Handlers: map[string]handler.Func{"stuck": func(_ context.Context, t handler.Task) error {
			if t.Attempt > 1 {
				return write(t, os.Getenv("STUCK_WRITES"))
			}
			if err := write(t, os.Getenv("STUCK_BEGINS")); err != nil {
				return err
			}
			select {}
		}},
	})
}

// write runs the text of a shell job that writes to a ledger, with the environment of task t.
func write(t handler.Task, text string) error {
	cmd := exec.Command("sh", "-c", text)
	cmd.Env = append(os.Environ(), "ROTA_RUN="+t.Run, fmt.Sprintf("ROTA_ATTEMPT=%d", t.Attempt),
		fmt.Sprintf("ROTA_FENCING_TOKEN=%d", t.Token), "ROTA_IDEMPOTENCY_KEY="+t.Key)
	return cmd.Run()
}

func playNode(cfg node.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return node.Run(ctx, cfg, hclog.New(&hclog.LoggerOptions{Level: hclog.Info}))
}

// TestStuckRun gives a run to a worker that neither ends it nor dies. The leader asks for its end, abandons the attempt, and
// retries it. The notifier gets one message about that.
func TestStuckRun(t *testing.T) {
	row(t)
	t.Parallel()
	ledger, inbox := NewLedger(t), NewInbox(t)
	c := Start(t, Config{
		Binary: os.Args[0], Replicas: 1, Flags: idle,
		Prepare: func(c *Cluster) { c.Replicas()[0].Env = append(c.Replicas()[0].Env, roleVariable+"=replica") },
		Jobs: map[string]job.Spec{"stuck": {
			Handler: "stuck", Timeout: job.Duration(4 * time.Second), KillGrace: job.Duration(time.Second),
			Retry: &job.Retry{Max: 1, Min: job.Duration(time.Second)}, Notify: inbox.NotifyOnce(),
		}},
	})
	w := NewProcess(t, os.Args[0], "stuck")
	w.Env = []string{
		c.mark(), roleVariable + "=stuck", "STUCK_DIR=" + filepath.Join(c.Dir, "stuck"), "STUCK_ETCD=" + strings.Join(c.Endpoints(), ","),
		"STUCK_BEGINS=" + ledger.Shell("exit 0"), "STUCK_WRITES=" + ledger.Shell(""),
	}
	w.Start()
	submit(t, c, "stuck", api.RunRequest{})
	Await(t, 20*time.Second, "the run executes", func() bool { return onlyRun(t, c, "stuck").State == job.Running })
	// To the other nodes, a worker with an attempt that never ends looks like a stopped machine.
	c.Harm(history.Fault{Kind: history.Pause, Node: "stuck", At: time.Now()})
	began := time.Now()
	Await(t, 40*time.Second, "the attempt is given up", func() bool { return len(onlyRun(t, c, "stuck").Attempts) > 0 })
	t.Logf("the attempt was given up after %v", time.Since(began).Round(100*time.Millisecond))
	Await(t, 20*time.Second, "the run is tried again", func() bool { return onlyRun(t, c, "stuck").State.Terminal() })
	r := onlyRun(t, c, "stuck")
	if r.State != job.Succeeded || r.Attempt != 2 || r.Attempts[0].State != job.TimedOut || r.Token <= r.Attempts[0].Token {
		t.Errorf("run: got %s after attempt %d with token %d, want succeeded with the second after a timeout: %+v",
			r.State, r.Attempt, r.Token, r.Attempts)
	}
	if !slices.ContainsFunc(c.Recorder.VersionsOf("runs/"+r.Name()), func(v history.Version) bool {
		before, ok := decode[job.Run](v, "runs/")
		return ok && before.Attempt == 1 && strings.Contains(before.Reason, "asked to end it")
	}) {
		t.Error("the leader gave the attempt up and had not asked for its end")
	}
	if !w.Running() {
		t.Error("the worker has ended: the fault took no effect")
	}
	c.Check(ledger.Effects, nil, nil)
	if n := len(ledger.Effects()); n != 2 {
		t.Errorf("executed %d times, want twice, the first time without an end", n)
	}
	if texts := inbox.Texts(); len(texts) != 1 || len(inbox.About("rota: a run of job stuck is stuck")) != 1 {
		t.Errorf("%d messages, want one about the stuck run:\n%s", len(texts), strings.Join(texts, "\n\n"))
	}
}
