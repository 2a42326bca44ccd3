package containers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/container"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/cluster"
)

func newExecutor(d *dockerd, worker string) *container.Executor {
	return container.New(container.Config{Socket: d.socket, Cluster: "test", Worker: worker}, time.Now)
}

// attempt returns the first attempt of a run, whose container performs the steps of toy.
func attempt(run string, steps ...string) executor.Request {
	spec := job.Spec{
		Container: &job.Container{Image: toyImage, Command: steps, Network: "none"},
		KillGrace: job.Duration(time.Second), Timeout: job.Duration(time.Minute),
	}.WithDefaults()
	jobName, id, _ := strings.Cut(run, "/")
	return executor.Request{Run: job.Run{Job: jobName, ID: id, Attempt: 1, Token: 41}, Spec: spec, Output: &buffer.Buffer{}}
}

// next returns the attempt after one that ended in a state.
func next(r executor.Request, state job.State) executor.Request {
	r.Run.Attempts = append(slices.Clone(r.Run.Attempts), job.Attempt{Number: r.Run.Attempt, Token: r.Run.Token, State: state})
	r.Run.Attempt++
	r.Run.Token++
	r.Output = &buffer.Buffer{}
	return r
}

// begin executes an attempt in the background. end ends it with a cause, and done has its outcome.
func begin(t *testing.T, e *container.Executor, r executor.Request) (end context.CancelCauseFunc, done chan job.Outcome) {
	ctx, end := context.WithCancelCause(t.Context())
	done = make(chan job.Outcome, 1)
	var wg sync.WaitGroup
	wg.Go(func() { done <- e.Execute(ctx, r) })
	t.Cleanup(func() { end(nil); wg.Wait() })
	return end, done
}

func wait(t *testing.T, done chan job.Outcome) job.Outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Minute):
		t.Fatal("the attempt does not end")
		return job.Outcome{}
	}
}

func TestEndsOfContainers(t *testing.T) {
	d := startEngine(t)
	e := newExecutor(d, "w1")
	t.Setenv("ROTA_SECRET_PIN", "s3cret-pin")
	for name, c := range map[string]struct {
		change  func(*executor.Request)
		steps   []string
		state   job.State
		reason  string // a part of it
		output  string // a part of it
		retry   bool
		outputs map[string]string
	}{
		"success":         {steps: []string{"say:hello"}, state: job.Succeeded, output: "hello\n"},
		"stderr":          {steps: []string{"complain:mind"}, state: job.Succeeded, output: "mind\n"},
		"exit code":       {steps: []string{"exit:3"}, state: job.Failed, reason: "exit code 3", retry: true},
		"asks for retry":  {steps: []string{"exit:75"}, state: job.Failed, reason: "asks for a retry", retry: true},
		"success codes":   {steps: []string{"exit:3"}, change: func(r *executor.Request) { r.Spec.SuccessCodes = []int{3} }, state: job.Succeeded},
		"token":           {steps: []string{"env:ROTA_FENCING_TOKEN", "env:ROTA_RUN"}, state: job.Succeeded, output: "ROTA_FENCING_TOKEN=41\nROTA_RUN=token/1\n"},
		"key":             {steps: []string{"env:ROTA_IDEMPOTENCY_KEY"}, state: job.Succeeded, output: "ROTA_IDEMPOTENCY_KEY=key/1\n"},
		"outputs":         {steps: []string{"output:rows=7"}, state: job.Succeeded, outputs: map[string]string{"rows": "7"}},
		"outputs of user": {steps: []string{"output:rows=7"}, change: func(r *executor.Request) { r.Spec.Container.User = "1234:100" }, state: job.Succeeded, outputs: map[string]string{"rows": "7"}},
		"bad outputs":     {steps: []string{"output:no pair"}, state: job.Failed, reason: "$ROTA_OUTPUT"},
		"secret": {steps: []string{"env:PIN"}, change: func(r *executor.Request) { r.Spec.Env = map[string]string{"PIN": "${env:ROTA_SECRET_PIN}"} },
			state: job.Succeeded, output: "PIN=***\n"},
		"no program": {change: func(r *executor.Request) { r.Spec.Container.Entrypoint = []string{"/nothing"} }, state: job.Failed, reason: "/nothing"},
		"no image, never pulled": {change: func(r *executor.Request) { r.Spec.Container.Image, r.Spec.Container.Pull = "absent:1", job.PullNever },
			state: job.Failed, reason: "image absent:1 is not on the engine", retry: true},
		"no image to pull": {change: func(r *executor.Request) { r.Spec.Container.Image = "127.0.0.1:9/absent:1" },
			state: job.Failed, reason: "pull image 127.0.0.1:9/absent:1: ", retry: true},
		"no network": {change: func(r *executor.Request) { r.Spec.Container.Network = "absent" }, state: job.Failed, reason: "absent", retry: true},
		"out of memory": {steps: []string{"eat"}, change: func(r *executor.Request) { r.Spec.Resources = &job.Resources{Memory: 32 << 20, PIDs: 50, CPU: 500} },
			state: job.Failed, reason: "memory (limit 32MiB)", retry: true},
		"timeout": {steps: []string{"ignore", "sleep:1m"}, change: func(r *executor.Request) { r.Spec.Timeout = job.Duration(2 * time.Second) },
			state: job.TimedOut, reason: "timed out after 2s, killed by SIGKILL after 1s of grace", retry: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := attempt(strings.ReplaceAll(name, " ", "-")+"/1", c.steps...)
			if c.change != nil {
				c.change(&r)
			}
			_, done := begin(t, e, r)
			o := wait(t, done)
			if o.State != c.state || !strings.Contains(o.Reason, c.reason) || o.Retry != c.retry || c.reason == "" && o.Reason != "" {
				t.Errorf("got %+v, want %s, %q, retry %v", o, c.state, c.reason, c.retry)
			}
			if fmt.Sprint(o.Outputs) != fmt.Sprint(c.outputs) {
				t.Errorf("outputs %v, want %v", o.Outputs, c.outputs)
			}
			if out := fmt.Sprint(r.Output); !strings.Contains(out, c.output) {
				t.Errorf("output %q, want %q in it", out, c.output)
			}
		})
	}
	if left := d.running(); len(left) > 0 {
		t.Errorf("containers still run: %q", left)
	}
}

func TestACanceledContainerIsRemoved(t *testing.T) {
	d := startEngine(t)
	r := attempt("cancel/1", "polite", "say:ready", "sleep:1m")
	end, done := begin(t, newExecutor(d, "w1"), r)
	cluster.Await(t, 20*time.Second, "output comes while it runs", func() bool { return strings.Contains(fmt.Sprint(r.Output), "ready") })
	end(fmt.Errorf("%w: by ann", executor.ErrCanceled))
	if o := wait(t, done); o.State != job.Canceled || o.Reason != "canceled: by ann, ended by SIGTERM" {
		t.Errorf("got %+v", o)
	}
	if left := d.all(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestContainersStayUntilTheirOutcomeIsStored(t *testing.T) {
	d := startEngine(t)
	e := newExecutor(d, "w1")
	r := attempt("stay/1", "say:hello")
	r.Run.State = job.Running
	var mu sync.Mutex
	record, asked := r.Run, 0 // asked counts how often a sweep read the record of stay/1
	sweeps := func() int { mu.Lock(); defer mu.Unlock(); return asked }
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		_ = e.Sweep(ctx, func(_ context.Context, _, id string) (job.Run, error) {
			mu.Lock()
			defer mu.Unlock()
			if id == r.Run.ID {
				asked++
			}
			return record, nil
		}, hclog.NewNullLogger())
	})
	for _, each := range []executor.Request{r, attempt("stay/2", "say:hello")} { // the second sweep begins after the first one has ended
		_, done := begin(t, e, each)
		wait(t, done)
		before := sweeps()
		cluster.Await(t, 10*time.Second, "a sweep finds the container", func() bool { return sweeps() > before })
	}
	if n := len(d.all()); n != 2 {
		t.Errorf("%d containers before their outcomes are stored, want 2", n)
	}
	mu.Lock()
	record.State = job.Succeeded
	mu.Unlock()
	_, done := begin(t, e, attempt("other/1", "say:hello")) // its end starts a sweep
	wait(t, done)
	cluster.Await(t, 10*time.Second, "all are removed", func() bool { return len(d.all()) == 0 })
}
