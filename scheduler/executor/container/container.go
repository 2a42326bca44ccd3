package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// pollPause lies between two calls of an engine that does not answer.
	pollPause = 200 * time.Millisecond
	// drainLimit is how long the rest of the output is read after a container has ended.
	drainLimit = 5 * time.Second
)

// Config configures the execution of containers.
type Config struct {
	Socket  string       // unix socket of Docker's engine
	Cluster string       // identity of the cluster: several clusters may use one engine
	Worker  string       // name of the worker
	Refs    *refs.Policy // which references jobs may use; nil: all
	Limits  *Limits      // which volumes and networks jobs may use; nil: all
}

// Executor executes the kind container.
type Executor struct {
	cfg      Config
	engine   *engine
	now      func() time.Time
	patience time.Duration // engineLimit; shorter in tests
	ended    chan struct{} // has a value when a container has ended and may be swept

	files executor.Files

	mu        sync.Mutex
	executing map[string]int // guarded by mu: the number of attempts by run, which decide about the containers of that run
}

var (
	_ executor.Executor = (*Executor)(nil)
	_ executor.Checker  = (*Executor)(nil)
)

// New returns an executor. It starts nothing, and does not need the engine yet.
func New(cfg Config, now func() time.Time) *Executor {
	return &Executor{
		cfg: cfg, engine: newEngine(cfg.Socket), now: now, patience: engineLimit, ended: make(chan struct{}, 1),
		executing: make(map[string]int),
	}
}

// count adds d to the attempts of a run that execute here, and returns their number.
func (e *Executor) count(run string, d int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.executing[run] + d
	if e.executing[run] = n; n == 0 {
		delete(e.executing, run)
	}
	return n
}

// Execute runs the container of an attempt to its end. Exit is the exit code of its program.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	e.count(req.Run.Name(), 1)
	defer e.count(req.Run.Name(), -1)
	if o, ended := executor.Interrupted(ctx, &req, e.now()); ended {
		return o
	}
	c, ok := executor.ReadFiles(ctx, &e.files, req.Run.Job, func() resolved { return e.resolve(&req) })
	if !ok {
		o, _ := executor.Interrupted(ctx, &req, e.now())
		o.Reason += executor.FilesHang
		return o
	}
	body, err := c.body, c.err
	out := executor.NewRedactor(req.Output, c.secrets)
	var o job.Outcome
	if executor.NoDescriptor(err) { // for the file of a reference
		o = executor.NotBegun(err)
	} else if err != nil {
		_, reference := errors.AsType[*refs.RefusedError](err)
		_, limit := errors.AsType[*limitError](err)
		o = job.Outcome{State: job.Failed, Reason: err.Error(), Retry: !reference && !limit}
	} else if interrupted, ok := executor.Interrupted(ctx, &req, e.now()); ok {
		o = interrupted // no container was created
	} else {
		o = e.execute(ctx, &req, body, out)
	}
	o = out.Outcome(o)
	o.At = e.now()
	return o
}

func (e *Executor) execute(ctx context.Context, req *executor.Request, body *creation, out io.Writer) job.Outcome {
	c, err := e.adopt(ctx, req, out)
	if err == nil && c == nil {
		c, err = e.begin(ctx, req, body)
	}
	if err != nil {
		if interrupted, ok := executor.Interrupted(ctx, req, e.now()); ok {
			_, asked := errors.AsType[*startError](err)
			return e.abandon(ctx, req, interrupted, asked, out)
		}
		return failure(err)
	}
	if limit := req.Spec.Timeout.Std(); limit > 0 && !c.State.StartedAt.IsZero() { // an adopted container began earlier
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, c.State.StartedAt.Add(limit), executor.ErrTimeout)
		defer cancel()
	}
	return e.follow(ctx, req, c, out)
}

// follow waits for the end of a container that was started, and copies its output.
func (e *Executor) follow(ctx context.Context, req *executor.Request, c *state, out io.Writer) job.Outcome {
	always := context.WithoutCancel(ctx)
	reading, stopReading := context.WithCancel(always)
	defer stopReading()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	f := &follower{engine: e.engine, id: c.ID, req: req, out: out}
	drained := make(chan struct{})
	wg.Go(func() { defer close(drained); f.run(reading, ended) })
	drain := func() {
		close(ended)
		select {
		case <-drained:
		case <-time.After(drainLimit):
			stopReading()
			<-drained
			why := ""
			if f.err != nil {
				why = ": " + f.err.Error()
			}
			fmt.Fprintf(out, "\n[rota: output is incomplete: the engine did not give the rest within %v%s]\n", drainLimit, why)
		}
	}

	w := &watch{engine: e.engine, id: c.ID, engineLost: c.engineLost}
	finish := func(last *state) job.Outcome {
		defer beating(req)() // the program has ended, so its heartbeat no longer counts
		drain()
		o := outcome(req, last, w.engineLost)
		if o.State != job.Lost {
			o = e.withOutputs(ctx, req, o, c.ID, out)
		}
		e.sweepSoon()
		return o
	}
	last, err := w.end(ctx)
	if err == nil {
		return finish(&last)
	}
	if hasStatus(err, http.StatusNotFound) {
		drain()
		return job.Outcome{State: job.Failed, Retry: true, Reason: fmt.Sprintf("container %s was removed while it ran", c.Name)}
	}
	how, ours, exited := e.stop(always, req, c, out)
	if exited != nil {
		return finish(exited)
	}
	if !ours {
		stopReading()
	}
	drain()
	if ours {
		if err := e.removed(always, c.ID); err != nil {
			fmt.Fprintf(out, "\n[rota: remove container %s: %v]\n", c.Name, err)
		}
	}
	o, ok := executor.Interrupted(ctx, req, e.now())
	if !ok { // the container was ended without a reason that is known
		o = job.Outcome{State: job.Lost, Retry: true, Reason: "container cannot be watched: " + err.Error()}
	}
	o.Reason += how
	return o
}

// sleep waits for a time, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
