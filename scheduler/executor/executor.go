package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// HurryGrace is how long an attempt may continue after another worker may execute its run. This time is short enough that the
// attempt has ended before the lease of its worker expires. See Request.Hurry.
const HurryGrace = 500 * time.Millisecond

// Request is one attempt to execute.
type Request struct {
	Run      job.Run   // the record, with Attempt and Token of this attempt
	Spec     job.Spec  // the job's spec with all defaults
	Deadline time.Time // when the attempt times out, for the job's information; the context enforces it

	// Inputs are the outputs of the runs that this one follows, by their jobs. nil: there are none.
	Inputs map[string]map[string]string

	// Output receives stdout and stderr, or the body of the response. It is safe for concurrent use and does not block
	// for long. Its errors are ignored, since output never decides an outcome.
	Output io.Writer

	// Beat reports progress of the attempt: see WithHeartbeat and Progress. nil: progress does not matter.
	Beat func()

	// Hurry is closed when another worker may execute the run. Then all processes of the attempt end within HurryGrace, even if
	// the job's grace is longer. nil: no other worker will execute the run, or the attempt has no processes.
	Hurry <-chan struct{}

	Prepared    Prepared // what was prepared for the attempt; nil: nothing. The caller closes it after Execute
	Mark        string   // unique marker of the attempt's processes: see package procs; empty: it has none
	TraceParent string   // W3C trace context; empty: none
}

// Payload returns the input of the attempt: the run's payload, else the job's, else nil.
func (r *Request) Payload() json.RawMessage {
	if len(r.Run.Payload) > 0 {
		return r.Run.Payload
	}
	if len(r.Spec.Payload) > 0 {
		return r.Spec.Payload
	}
	return nil
}

// Params returns the parameters of the attempt: those of the run, and the job's defaults for all others. A declared parameter
// without a value is missing.
func (r *Request) Params() map[string]string {
	all, _ := r.Spec.DefaultParams()
	if all == nil {
		return r.Run.Params
	}
	maps.Copy(all, r.Run.Params)
	return all
}

// Executor executes attempts. It is safe for concurrent use.
type Executor interface {
	// Execute executes the attempt and returns after all its parts have ended. When ctx ends, Execute ends the attempt, and
	// context.Cause(ctx) decides the outcome: see Interrupted. It writes output to req.Output and leaves Outcome.Output empty.
	Execute(ctx context.Context, req Request) job.Outcome
}

// Set executes attempts of several kinds.
type Set struct {
	kinds map[string]Executor
	now   func() time.Time
}

// NewSet returns an executor that uses one executor for each kind of job (see job.Spec.Kind).
func NewSet(kinds map[string]Executor, now func() time.Time) *Set {
	return &Set{kinds: kinds, now: now}
}

// Refusal is an executor of a kind that the worker must not execute. It begins nothing, so that another worker gets the run. A
// leader that knows the worker's kinds gives it no such run. An older one does, and the runs of other kinds must not wait for that.
type Refusal string

// Execute returns that the attempt has not begun.
func (r Refusal) Execute(context.Context, Request) job.Outcome {
	return KindAway(errors.New(string(r)))
}

// Execute passes the attempt to the executor of its kind. If there is none, the attempt fails and asks for a retry, since
// a worker of another version may have one.
func (s *Set) Execute(ctx context.Context, req Request) job.Outcome {
	kind := req.Spec.Kind()
	if e, ok := s.kinds[kind]; ok {
		return e.Execute(ctx, req)
	}
	reason := "job has nothing to execute"
	if kind != "" {
		reason = fmt.Sprintf("worker cannot execute jobs of kind %q", kind)
	}
	return job.Outcome{State: job.Failed, At: s.now(), Reason: reason, Retry: kind != ""}
}
