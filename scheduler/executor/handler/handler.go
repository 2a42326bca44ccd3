package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Func is a registered function. It should return soon after ctx ends. A nil error means that the work is done and the
// attempt succeeded, even after ctx has ended, so a function that gives up returns ctx.Err(). Any other error asks for a
// retry, unless Permanent has wrapped it.
type Func func(ctx context.Context, t Task) error

// Task describes an attempt to its function.
type Task struct {
	Job         string
	Run         string    // <job>/<slot or id>
	Slot        time.Time // UTC
	Attempt     int       // counted from 1
	Token       int64     // fencing token: higher for every later attempt of the job
	Key         string    // idempotency key: the same for all attempts of the run
	Deadline    time.Time
	Payload     json.RawMessage              // nil: none
	Params      map[string]string            // the parameters of the run, by name; nil: none
	TraceParent string                       // W3C; empty: none
	Inputs      map[string]map[string]string // outputs of the runs that this one follows, by job and name; nil: none
	Outputs     map[string]string            // not nil: what the function puts here is given to the runs that follow
	Output      io.Writer                    // becomes the attempt's output; safe for concurrent use; its errors may be ignored

	// Progress reports progress, which a job with a heartbeat must report in time. Writing to Output reports it too.
	// Progress is never nil, safe for concurrent use, and cheap.
	Progress func()
}

// Executor executes the kind handler.
type Executor struct {
	funcs map[string]Func
	now   func() time.Time
}

var _ executor.Executor = (*Executor)(nil)

// New returns an executor of funcs, whose keys are the names that jobs use.
func New(funcs map[string]Func, now func() time.Time) *Executor {
	return &Executor{funcs: maps.Clone(funcs), now: now}
}

// Names returns the names of the registered functions, sorted.
func (e *Executor) Names() []string { return slices.Sorted(maps.Keys(e.funcs)) }

// Execute calls the job's function and waits for it.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	f, ok := e.funcs[req.Spec.Handler]
	if !ok { // another worker may have it
		return job.Outcome{
			State: job.Failed, At: e.now(), Retry: true,
			Reason: fmt.Sprintf("handler %q is not registered on this worker", req.Spec.Handler),
		}
	}
	if o, ok := executor.Interrupted(ctx, &req, e.now()); ok {
		return o // the function was not called
	}
	c := &call{task: task(&req), err: errNoReturn}
	err := c.run(ctx, f)
	outputs := c.task.Outputs
	bad := job.CheckOutputs(outputs)
	if bad != nil && err == nil {
		err = Permanent(bad)
	}
	o, ended := executor.Interrupted(ctx, &req, e.now())
	switch {
	case !ended, err == nil && !errors.Is(context.Cause(ctx), executor.ErrCanceled):
		o = outcome(err, e.now()) // the work is done: if a late timeout decided, a retry would repeat the work
	case err != nil && !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, ctx.Err()):
		o.Reason += ": " + err.Error()
	}
	if len(outputs) > 0 && bad == nil {
		o.Outputs = maps.Clone(outputs) // a goroutine that the function left behind may still write to its map
	}
	return o
}

// task returns the task of an attempt. The function may change all of it: the run and the definition have their own copies. With a
// changed payload, the worker could not record the outcome of the run.
func task(req *executor.Request) Task {
	key := req.Run.IdempotencyKey()
	name := key // without a key of the caller, it is the name
	if req.Run.Key != "" {
		name = req.Run.Name()
	}
	t := Task{
		Job: req.Run.Job, Run: name, Slot: req.Run.Slot.UTC(), Attempt: req.Run.Attempt, Token: req.Run.Token,
		Key: key, Deadline: req.Deadline, Payload: bytes.Clone(req.Payload()), Params: maps.Clone(req.Params()),
		TraceParent: req.TraceParent, Inputs: maps.Clone(req.Inputs), Outputs: map[string]string{}, Output: req.Output,
		Progress: func() {},
	}
	for parent, outputs := range t.Inputs {
		t.Inputs[parent] = maps.Clone(outputs)
	}
	if req.Beat != nil {
		t.Output, t.Progress = reportingWriter{req.Output, req.Beat}, req.Beat
	}
	return t
}

// reportingWriter writes output and reports progress for each write.
type reportingWriter struct {
	out    io.Writer
	report func()
}

func (w reportingWriter) Write(p []byte) (int, error) {
	w.report()
	return w.out.Write(p)
}

// errNoReturn is the error of a function that has called runtime.Goexit.
var errNoReturn = errors.New("handler ended its goroutine without returning")

// call is one call of a function.
type call struct {
	task Task
	err  error
	done sync.WaitGroup
}

// run calls f on its own goroutine, so that runtime.Goexit cannot end a goroutine of the worker.
func (c *call) run(ctx context.Context, f Func) error {
	c.done.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(c.task.Output, "panic: %v\n\n%s", p, debug.Stack())
				c.err = fmt.Errorf("panic: %v", p)
			}
		}()
		c.err = plain(ctx, f(ctx, c.task))
	})
	c.done.Wait()
	return c.err
}
