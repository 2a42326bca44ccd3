package node

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/metrics"
	"github.com/rota-scheduler/rota/cmd/rota/internal/tracing"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// openTracer opens the tracer, if the environment asks for one.
func (n *Node) openTracer(ctx context.Context, stops *closers) (err error) {
	n.tracer, err = tracing.Open(ctx, tracing.Config{Node: n.set.Node.Name, Version: n.cfg.Version.Version, Now: n.now}, n.log)
	if err != nil {
		return failure.Config(err)
	}
	if n.tracer != nil {
		stops.add("send the last spans", n.tracer.Close)
	}
	return nil
}

// traced returns an executor whose calls are traced, if there is a tracer.
func (n *Node) traced(e executor.Executor) executor.Executor {
	if n.tracer == nil {
		return e
	}
	return tracing.Executor{Executor: e, Tracer: n.tracer}
}

// traceOf returns the function that names the traces of runs; nil without a tracer.
func (n *Node) traceOf() func(*job.Run) string {
	if n.tracer == nil {
		return nil
	}
	return n.tracer.TraceID
}

// observer returns the observer of the leader.
func (n *Node) observer() scheduler.Observer {
	if n.tracer == nil {
		return n.metrics
	}
	return tracedMetrics{n.metrics, n.tracer}
}

// tracedMetrics passes the leader's decisions to the metrics and to the tracer.
type tracedMetrics struct {
	*metrics.Metrics
	tracer *tracing.Tracer
}

// Decided counts and traces a decision.
func (t tracedMetrics) Decided(d job.Decision, a job.Applied, began, sent time.Time) {
	t.Metrics.Decided(d, a, began, sent)
	t.tracer.Decided(d, a, began, sent)
}
