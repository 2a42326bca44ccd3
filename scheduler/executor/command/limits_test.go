package command_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/lacking"
)

// limiting returns an executor that can limit resources. If there are no cgroups, it skips the test. In CI there must be
// cgroups.
func limiting(t *testing.T) *command.Executor {
	t.Helper()
	tree, err := cgroups.Open()
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	if len(tree.Controllers()) < 3 {
		lacking.ReportForRoot(t, "there are no cgroups: %v", err)
	}
	return command.New(command.Config{Environ: []string{"PATH=" + os.Getenv("PATH")}, Groups: tree}, func() time.Time { return at })
}

// hog allocates memory in a child of the shell until it is killed.
func hog(res job.Resources) job.Spec {
	return job.Spec{Shell: "tail /dev/zero; echo still there; exit 3", Resources: &res}
}

func TestAMemoryHogDiesAlone(t *testing.T) {
	e := limiting(t)
	var out buffer.Buffer
	other := make(chan job.Outcome, 1)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	req := request(t, job.Spec{Shell: "echo began; cat " + fifo, Resources: &job.Resources{Memory: 64 << 20}}, &out)
	go func() { other <- e.Execute(t.Context(), req) }()
	eventually(t, "the other one began", func() bool { return out.String() == "began\n" })

	for range 2 {
		o := e.Execute(t.Context(), request(t, hog(job.Resources{Memory: 32 << 20}), io.Discard))
		if o.State != job.Failed || o.Reason != "killed: out of memory (limit 32MiB)" || !o.Retry || o.Exit == nil {
			t.Errorf("got %+v, want out of memory", o)
		}
	}
	if err := os.WriteFile(fifo, []byte("end\n"), 0); err != nil {
		t.Fatal(err)
	}
	if o := <-other; o.State != job.Succeeded || out.String() != "began\nend\n" {
		t.Errorf("the other one ended with %+v and printed %q", o, out.String())
	}
}

func TestTheLimitIsForTheWholeTree(t *testing.T) {
	// Each process uses at most a third of the limit.
	each := `head -c 20000000 /dev/zero | tail -c 20000000 | (sleep 0.3; wc -c)`
	spec := job.Spec{Shell: fmt.Sprintf("(%[1]s) & (setsid sh -c '%[1]s') & (%[1]s) & (%[1]s) & wait; echo end", each), Resources: &job.Resources{Memory: 48 << 20}}
	o := limiting(t).Execute(t.Context(), request(t, spec, io.Discard))
	if o.State != job.Failed || o.Reason != "killed: out of memory (limit 48MiB)" {
		t.Errorf("got %+v, want out of memory", o)
	}
}

func TestResourcesThatCannotBeLimitedAreRefused(t *testing.T) {
	var out buffer.Buffer
	spec := job.Spec{Shell: "echo began", Resources: &job.Resources{PIDs: 10}}
	o := newExecutor().Execute(t.Context(), request(t, spec, &out))
	if o.State != job.Failed || o.Reason != "limit pids: there is no cgroup for it on this worker" || !o.Retry || out.String() != "" {
		t.Errorf("got %+v and %q, want a refusal", o, out.String())
	}
	spec.Resources = &job.Resources{}
	if o := newExecutor().Execute(t.Context(), request(t, spec, &out)); o.State != job.Succeeded {
		t.Errorf("got %+v, though nothing is to be limited", o)
	}
}

func TestProcessesAreLimitedAndAllKilled(t *testing.T) {
	e := limiting(t)
	var out buffer.Buffer
	spec := job.Spec{
		Shell: "for i in 1 2 3 4 5; do (setsid env -i sleep 1000.5 &); done\n" +
			"while [ \"$(pgrep -cxf 'sleep 1000.5')\" != 5 ]; do :; done; echo five\n" +
			"sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1000.25 & done; wait'",
		Resources: &job.Resources{PIDs: 10}, KillGrace: job.Duration(time.Second),
	}
	o := e.Execute(t.Context(), request(t, spec, &out))
	if o.State != job.Failed || !strings.HasPrefix(out.String(), "five\n") || !strings.Contains(out.String(), "ork") {
		t.Errorf("got %+v, and %q; want five processes and a refusal to fork", o, out.String())
	}
	out = buffer.Buffer{}
	if o := newExecutor().Execute(t.Context(), request(t, shell("pgrep -xf 'sleep 1000.5'"), &out)); o.State != job.Failed {
		t.Errorf("processes are left that cgroups find: %s", out.String())
	}
}

func TestManyLimitedAttempts(t *testing.T) {
	e := limiting(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			spec := job.Spec{Command: []string{"true"}, Resources: &job.Resources{Memory: 64 << 20, CPU: 1000, PIDs: 1}}
			if o := e.Execute(t.Context(), request(t, spec, io.Discard)); o.State != job.Succeeded {
				t.Errorf("got %+v", o)
			}
		})
	}
	wg.Wait()
}

// beating executes spec with a heartbeat, as a worker does.
func beating(t *testing.T, spec job.Spec, out io.Writer) job.Outcome {
	t.Helper()
	ctx, beat, stop := executor.WithHeartbeat(t.Context(), spec.Heartbeat.Std())
	defer stop()
	req := request(t, spec, out)
	req.Beat = beat
	return newExecutor().Execute(ctx, req)
}

func TestALostHeartbeatKillsTheWholeGroup(t *testing.T) {
	// newMark fails the test if a process is left.
	spec := job.Spec{
		Shell:     "echo began; sleep 1000 & (setsid sleep 1000 &); wait",
		Heartbeat: job.Duration(time.Second), KillGrace: job.Duration(5 * time.Second),
	}
	var out buffer.Buffer
	o := beating(t, spec, &out)
	if o.State != job.TimedOut || o.Reason != "no heartbeat for 1s, ended by SIGTERM" || !o.Retry || out.String() != "began\n" {
		t.Errorf("got %+v and %q, want timed out", o, out.String())
	}
}

func TestHeartbeatsKeepAnAttempt(t *testing.T) {
	for name, spec := range map[string]job.Spec{
		"output":        {Shell: "for i in 1 2 3 4 5 6 7 8; do sleep 0.25; echo $i >&2; done"},
		"sd_notify":     {Command: []string{os.Args[0]}, Env: map[string]string{"ROTA_TEST_NOTIFY": "WATCHDOG=1"}},
		"among others":  {Command: []string{os.Args[0]}, Env: map[string]string{"ROTA_TEST_NOTIFY": "STATUS=at it\nWATCHDOG=1\n"}},
		"other message": {Command: []string{os.Args[0]}, Env: map[string]string{"ROTA_TEST_NOTIFY": "STATUS=WATCHDOG=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Heartbeat, spec.KillGrace = job.Duration(1200*time.Millisecond), job.Duration(time.Second)
			want := job.Succeeded
			if name == "other message" {
				want = job.TimedOut
			}
			var out buffer.Buffer
			if o := beating(t, spec, &out); o.State != want {
				t.Errorf("got %+v and %q, want %s", o, out.String(), want)
			}
		})
	}
}

// notify is a program that sends eight heartbeats in two seconds.
func notify(message string) {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil || os.Getenv("WATCHDOG_USEC") != "1200000" {
		fmt.Println(err, os.Getenv("WATCHDOG_USEC"))
		os.Exit(1)
	}
	for range 8 {
		// The pause between two heartbeats of a real program. The test needs it.
		time.Sleep(250 * time.Millisecond)
		if _, err := conn.Write([]byte(message)); err != nil {
			os.Exit(1)
		}
	}
}

func TestAProgramWithoutAHeartbeatHasNoSocket(t *testing.T) {
	var out buffer.Buffer
	req := request(t, shell(`echo "$NOTIFY_SOCKET$WATCHDOG_USEC"`), &out)
	req.Spec.Env = map[string]string{"NOTIFY_SOCKET": "its own"}
	newExecutor().Execute(context.Background(), req)
	if out.String() != "its own\n" {
		t.Errorf("got %q", out.String())
	}
}
