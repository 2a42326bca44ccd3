package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// HurryGrace is how long an attempt that others may repeat has to put things in order: see Request.Hurry. With it the attempt is
// gone before the lease of a worker that stops in time has run out.
const HurryGrace = 500 * time.Millisecond

// Request is one attempt to execute.
type Request struct {
	Run      job.Run   // with Attempt and Token of this attempt
	Spec     job.Spec  // complete, as after WithDefaults
	Deadline time.Time // when the attempt times out; what the job is told, since the context enforces it

	// Output receives stdout and stderr, or the response's body. It is safe for concurrent use, does not block for
	// long, and its errors are ignored: output never decides an outcome.
	Output io.Writer

	// Beat is told that the attempt gets on: see WithHeartbeat and Progress. nil: nobody listens.
	Beat func()

	// Hurry is closed when others may execute the attempt's run: then nothing of the attempt may live for more than HurryGrace,
	// whatever grace its job has. nil: they never may.
	Hurry <-chan struct{}

	Marker      string // unique mark of the attempt's processes, see package procs
	TraceParent string // W3C trace context, made by the worker; empty: none
}

// Payload is what the job is given to work on: the run's, else the job's, else nil.
func (r *Request) Payload() json.RawMessage {
	if len(r.Run.Payload) > 0 {
		return r.Run.Payload
	}
	if len(r.Spec.Payload) > 0 {
		return r.Spec.Payload
	}
	return nil
}

// Executor executes attempts. It is safe for concurrent use.
type Executor interface {
	// Execute returns when nothing of the attempt lives any more. It ends the attempt when ctx is done, and then
	// context.Cause(ctx) decides the outcome: see Interrupted. Outcome.Output stays empty: what came is in Output.
	Execute(ctx context.Context, req Request) job.Outcome
}

// Set executes attempts of several kinds.
type Set struct {
	kinds map[string]Executor
	now   func() time.Time
}

// NewSet returns the executor of all kinds (see job.Spec.Kind), each by its own.
func NewSet(kinds map[string]Executor, now func() time.Time) *Set {
	return &Set{kinds: kinds, now: now}
}

// Execute hands the attempt to the executor of its kind. A kind that there is none for fails the attempt, and asks for
// another one: another worker may be of another version.
func (s *Set) Execute(ctx context.Context, req Request) job.Outcome {
	kind := req.Spec.Kind()
	if e, ok := s.kinds[kind]; ok {
		return e.Execute(ctx, req)
	}
	reason := "job says nothing to execute"
	if kind != "" {
		reason = fmt.Sprintf("worker cannot execute jobs of kind %q", kind)
	}
	return job.Outcome{State: job.Failed, At: s.now(), Reason: reason, Retry: kind != ""}
}
