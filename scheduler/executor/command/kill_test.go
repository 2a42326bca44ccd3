package command_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
)

func TestTimeoutKillsTheWholeTree(t *testing.T) {
	spec := job.Spec{
		Shell:     "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &); echo began; wait; sleep 1000",
		KillGrace: job.Duration(10 * time.Second), Timeout: job.Duration(time.Minute),
	}
	o, _ := endAfter(t, spec, 6, executor.ErrTimeout)
	if o.State != job.TimedOut || o.Reason != "timed out after 1m, ended by SIGTERM" || o.Exit == nil || *o.Exit != 143 {
		t.Errorf("got %+v, want timed out", o)
	}
}

func TestCommandThatExitsOnSIGTERMHasItsExitCode(t *testing.T) {
	for trap, want := range map[string]string{
		"exit 0":      "canceled, ended with exit code 0 after SIGTERM",
		"exit 7":      "canceled, ended with exit code 7 after SIGTERM",
		"exit 143":    "canceled, ended by SIGTERM",
		"trap - TERM": "canceled, ended by SIGTERM",
	} {
		spec := job.Spec{Shell: "trap '" + trap + "; kill $$' TERM; echo began; while :; do sleep 0.01; done", KillGrace: job.Duration(10 * time.Second)}
		if o, _ := endAfter(t, spec, 1, executor.ErrCanceled); o.State != job.Canceled || o.Reason != want {
			t.Errorf("%s: got %s: %s, want %s", trap, o.State, o.Reason, want)
		}
	}
}

func TestCommandThatIgnoresSIGTERMIsKilledAfterItsGrace(t *testing.T) {
	spec := job.Spec{Shell: "trap '' TERM; echo began; sleep 1000 & wait; sleep 1000", KillGrace: job.Duration(200 * time.Millisecond)}
	start := time.Now()
	o, _ := endAfter(t, spec, 2, executor.ErrCanceled)
	if o.State != job.Canceled || o.Reason != "canceled, killed by SIGKILL after 200ms of grace" || *o.Exit != 137 {
		t.Errorf("got %+v, want canceled", o)
	}
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("killed after %v, within its grace", took)
	}
}

// leaveGroup acts as a program that joins the group of its worker, and ignores SIGTERM.
func leaveGroup() {
	group, err := syscall.Getpgid(os.Getppid())
	if err == nil {
		err = syscall.Setpgid(0, group)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("began")
	for range signals {
	}
}

func TestACommandThatHasLeftItsGroupIsKilled(t *testing.T) {
	spec := argv(os.Args[0])
	spec.Env, spec.KillGrace = map[string]string{"ROTA_TEST_LEAVING": "1"}, job.Duration(200*time.Millisecond)
	o, out := endAfter(t, spec, 1, executor.ErrTimeout)
	if o.State != job.TimedOut || o.Exit == nil || *o.Exit != 137 {
		t.Errorf("got %+v, want the end by SIGKILL; output %q", o, out)
	}
}

// TestNothingOutlivesTheLease uses a job whose kill grace is longer than the lease of its worker.
func TestNothingOutlivesTheLease(t *testing.T) {
	for name, cause := range map[string]error{
		"worker lost its lease": executor.ErrFenced,
		"timed out":             executor.ErrTimeout, // the lease is lost during the grace
	} {
		t.Run(name, func(t *testing.T) {
			var out buffer.Buffer
			hurry := make(chan struct{})
			req := request(t, job.Spec{Shell: "trap 'echo asked' TERM; echo began; while :; do sleep 0.01; done", KillGrace: job.Duration(10 * time.Second)}, &out)
			req.Hurry = hurry
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan job.Outcome, 1)
			go func() { done <- newExecutor().Execute(ctx, req) }()
			eventually(t, "it began", func() bool { return strings.Contains(out.String(), "began\n") })
			cancel(cause)
			eventually(t, "it was asked to end", func() bool { return strings.Contains(out.String(), "asked\n") })
			close(hurry)
			if o, want := <-done, name+", killed by SIGKILL before others may repeat it"; o.Reason != want {
				t.Errorf("reason %q, want %q", o.Reason, want)
			}
		})
	}
}

func TestGraceIsForTheWholeGroup(t *testing.T) {
	const slow = `sh -c 'trap "sleep 0.2; echo in order; exit 0" TERM; echo began; while :; do sleep 0.01; done'`
	for name, text := range map[string]string{
		// The shell dies of SIGTERM at once, and its child needs a moment to clean up.
		"in the group":                slow + " & wait",
		"in one of its own":           "timeout 60 " + slow + "; true",
		"in a session of its own":     "setsid " + slow + " & wait",
		"what it starts to do so too": `sh -c 'trap "timeout 10 sleep 0.2 && echo in order; exit 0" TERM; echo began; while :; do sleep 0.01; done' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			var out buffer.Buffer
			req := request(t, job.Spec{Shell: text, KillGrace: job.Duration(10 * time.Second)}, &out)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan job.Outcome, 1)
			go func() { done <- newExecutor().Execute(ctx, req) }()
			eventually(t, "it began", func() bool { return strings.Contains(out.String(), "began\n") })
			cancel(executor.ErrStopping)
			o := <-done
			if o.State != job.Lost || !strings.HasPrefix(o.Reason, "worker stopped, ended by SIGTERM") {
				t.Errorf("got %+v, want lost", o)
			}
			if !strings.HasSuffix(out.String(), "in order\n") {
				t.Errorf("output %q: the child had no grace", out.String())
			}
		})
	}
}

func TestStoppedCommandSeesSIGTERM(t *testing.T) {
	spec := job.Spec{Shell: "(sleep 0.1; echo began) & kill -STOP $$; sleep 1000", KillGrace: job.Duration(10 * time.Second)}
	o, _ := endAfter(t, spec, 1, executor.ErrTimeout)
	if *o.Exit != 143 {
		t.Errorf("got %+v, want an end by SIGTERM", o)
	}
}

func TestLeftoversAreKilledWhenTheCommandEnds(t *testing.T) {
	for name, text := range map[string]string{
		"in the background":               "sleep 1000 & echo done",
		"with nohup":                      "nohup sleep 1000 >/dev/null 2>&1 & echo done",
		"in a session of its own":         "setsid sleep 1000 & sleep 0.05; echo done",
		"forked twice":                    "(setsid sh -c 'sleep 1000 & echo $! >/dev/null' &) ; sleep 0.05; echo done",
		"without the environment":         "env -i sleep 1000 & echo done",
		"in the background after failure": "sleep 1000 & echo done; exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			var out buffer.Buffer
			req := request(t, shell(text), &out)
			start := time.Now()
			o := newExecutor().Execute(t.Context(), req)
			if left := marked(t, req.Mark); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if !strings.HasPrefix(out.String(), "done\n") || o.Exit == nil || o.State == job.TimedOut {
				t.Errorf("output %q, outcome %+v", out.String(), o)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v: Execute waited for a process that keeps stdout open", took)
			}
		})
	}
}
