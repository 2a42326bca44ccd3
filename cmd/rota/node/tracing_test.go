package node

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/cmd/rota/internal/metrics"
	"github.com/rota-scheduler/rota/cmd/rota/internal/tracing"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// idle is an executor that does nothing.
type idle struct{}

func (idle) Execute(context.Context, executor.Request) job.Outcome {
	return job.Outcome{State: job.Succeeded}
}

// TestTracingThatIsOffCostsNothing counts the allocations of one decision and one execution: of the code below the tracing,
// of a node without a tracer, and of a node with one. The count of the last proves that the test would see a span.
func TestTracingThatIsOffCostsNothing(t *testing.T) {
	n := &Node{metrics: metrics.New(metrics.Sources{})}
	now := time.Now()
	run := job.Run{Job: "charge", ID: "2026-11-23T04:20:00Z", State: job.Pending, Term: 3, Slot: now, Due: now, Created: now}
	d := job.Decision{Run: &run}
	req := executor.Request{Run: run, Spec: job.Spec{Command: []string{"true"}}}
	cost := func(o scheduler.Observer, e executor.Executor) float64 {
		return testing.AllocsPerRun(100, func() {
			o.Decided(d, job.Applied{Rev: 7}, now, now)
			e.Execute(t.Context(), req)
		})
	}

	bare := cost(n.metrics, idle{})
	off := cost(n.observer(), n.traced(idle{}))
	if off != bare || n.traceOf() != nil {
		t.Errorf("tracing that is off: %v allocations for a run, want %v as without its code", off, bare)
	}

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	var err error
	if n.tracer, err = tracing.Open(t.Context(), tracing.Config{Node: "q1", Now: time.Now}, hclog.NewNullLogger()); err != nil {
		t.Fatal(err)
	}
	on := cost(n.observer(), n.traced(idle{}))
	if err := n.tracer.Close(); err != nil {
		t.Error(err)
	}
	if on <= bare {
		t.Errorf("tracing that is on: %v allocations for a run, no more than %v without it: the test measures nothing", on, bare)
	}
	t.Logf("allocations for a run: %v without the code of tracing, %v with tracing off, %v with tracing on", bare, off, on)
}
