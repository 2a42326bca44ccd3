package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Decided records a decision of the leader that the store has committed. began is when the planner began to decide, sent when the
// decision was sent to the store.
func (t *Tracer) Decided(d job.Decision, a job.Applied, began, sent time.Time) {
	run := d.Run
	if run == nil || a.Err != nil {
		return
	}
	now := t.now()
	if d.GaveUp {
		t.gaveUp(run)
	}
	term := attribute.Int64("rota.term", run.Term)
	decide := t.record(run, span{
		name: "decide", from: began, to: now, state: run.State, reason: run.Reason, attrs: []attribute.KeyValue{term},
	})
	t.record(run, span{name: "commit", parent: decide, kind: trace.SpanKindClient, from: sent, to: now,
		attrs: []attribute.KeyValue{term, attribute.Int64("rota.revision", a.Rev)}})
	t.ended(run)
}

// gaveUp records the last attempt of a run in the place of its worker, which was lost.
func (t *Tracer) gaveUp(run *job.Run) {
	if len(run.Attempts) == 0 {
		return
	}
	a := run.Attempts[len(run.Attempts)-1]
	attrs := attemptAttributes(a.Number, a.Token, a.Worker)
	execute, call := run.AttemptSpans(a.Token)
	t.record(run,
		span{name: "execute", id: execute, from: a.Started, to: a.Finished, state: a.State, reason: a.Reason, attrs: attrs},
		span{name: "call", id: call, parent: execute, kind: trace.SpanKindClient, from: a.Started, to: a.Finished, state: a.State,
			reason: a.Reason, attrs: attrs},
	)
}

// ended records the whole run if it has ended.
func (t *Tracer) ended(run *job.Run) {
	if !run.State.Terminal() {
		return
	}
	t.record(run, span{name: "run " + run.Job, root: true, from: run.Created, to: run.Finished, state: run.State, reason: run.Reason})
}

// Claimed records the claim of a run, which took a time until now.
func (t *Tracer) Claimed(run *job.Run, took time.Duration) {
	t.since(run, span{name: "claim", kind: trace.SpanKindClient}, took)
}

// Ended records an attempt of this worker, which took a time until now.
func (t *Tracer) Ended(run *job.Run, o *job.Outcome, took time.Duration) {
	execute, _ := run.AttemptSpans(run.Token)
	t.since(run, span{name: "execute", id: execute, state: o.State, reason: o.Reason}, took)
}

// Settled records that the store took the outcome of an attempt. settled is the record after that.
func (t *Tracer) Settled(attempt, settled *job.Run, took time.Duration) {
	t.since(attempt, span{name: "settle", kind: trace.SpanKindClient}, took)
	t.ended(settled)
}

// since records a span of an attempt that ends now.
func (t *Tracer) since(run *job.Run, s span, took time.Duration) {
	s.to = t.now()
	s.from = s.to.Add(-took)
	s.attrs = attemptAttributes(run.Attempt, run.Token, run.Worker)
	t.record(run, s)
}

func attemptAttributes(number int, token int64, worker string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int("rota.attempt", number), attribute.Int64("rota.fencing_token", token), attribute.String("rota.worker", worker),
	}
}

// Executor records the calls of targets.
type Executor struct {
	executor.Executor
	Tracer *Tracer
}

var _ executor.Preparer = Executor{}

// Prepare prepares an attempt, if the executor of its kind does that.
func (e Executor) Prepare(spec *job.Spec) executor.Prepared {
	if p, ok := e.Executor.(executor.Preparer); ok {
		return p.Prepare(spec)
	}
	return nil
}

// Execute executes the attempt, and records its call. The span of the call is the parent of the target's own spans.
func (e Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	t, began := e.Tracer, e.Tracer.now()
	req.TraceParent = req.Run.TraceParent(t.sampled(req.Run.TraceIDs()))
	o := e.Executor.Execute(ctx, req)
	execute, call := req.Run.AttemptSpans(req.Run.Token)
	name := req.Spec.Kind()
	if name == "http" {
		name = "request"
	}
	s := span{name: name, id: call, parent: execute, kind: trace.SpanKindClient, state: o.State, reason: o.Reason}
	t.since(&req.Run, s, t.now().Sub(began))
	return o
}
