package handler

import (
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

// Func is a registered function. It should return soon after ctx is done. A nil error means that the work is done and the
// attempt succeeded, also if ctx is done by then: who gives up halfway returns ctx.Err(). Any other one asks for another
// attempt, unless Permanent has wrapped it.
type Func func(ctx context.Context, t Task) error

// Task is what a function is told about its attempt.
type Task struct {
	Job         string
	Run         string    // <job>/<slot or id>
	Slot        time.Time // UTC
	Attempt     int       // from 1
	Token       int64     // fencing token: higher for every later attempt of the job
	Key         string    // idempotency key: the same for all attempts of the run
	Deadline    time.Time
	Payload     json.RawMessage // nil: none
	TraceParent string          // W3C; empty: none
	Output      io.Writer       // becomes the attempt's output; safe for concurrent use; its errors need no look

	// Progress says that the function gets on, as a job with a heartbeat has to every so often; writing to Output says so,
	// too. Never nil, safe for concurrent use, and cheap.
	Progress func()
}

// Executor executes the kind handler.
type Executor struct {
	funcs map[string]Func
	now   func() time.Time
}

var _ executor.Executor = (*Executor)(nil)

// New returns the executor of these functions, by the names that jobs use.
func New(funcs map[string]Func, now func() time.Time) *Executor {
	return &Executor{funcs: maps.Clone(funcs), now: now}
}

// Names lists the registered functions, sorted.
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
		return o // it was never called
	}
	err := call(ctx, f, task(&req))
	o, ended := executor.Interrupted(ctx, &req, e.now())
	switch {
	case !ended, err == nil && !errors.Is(context.Cause(ctx), executor.ErrCanceled):
		o = outcome(err, e.now()) // done is done: to repeat it for a timeout that came meanwhile would be doing it twice
	case err != nil && !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, ctx.Err()):
		o.Reason += ": " + err.Error()
	}
	return o
}

func task(req *executor.Request) Task {
	return Task{
		Job: req.Run.Job, Run: req.Run.Name(), Slot: req.Run.Slot.UTC(), Attempt: req.Run.Attempt, Token: req.Run.Token,
		Key: req.Run.IdempotencyKey(), Deadline: req.Deadline, Payload: req.Payload(), TraceParent: req.TraceParent,
		Output: audible{req}, Progress: req.Progress,
	}
}

// audible takes output, all of which is progress.
type audible struct{ req *executor.Request }

func (a audible) Write(p []byte) (int, error) {
	a.req.Progress()
	return a.req.Output.Write(p)
}

// call calls f on a goroutine of its own, so that runtime.Goexit ends no goroutine of the worker's.
func call(ctx context.Context, f Func, t Task) error {
	err := errors.New("handler ended its goroutine without returning")
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(t.Output, "panic: %v\n\n%s", p, debug.Stack())
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		err = f(ctx, t)
	})
	wg.Wait()
	return err
}
