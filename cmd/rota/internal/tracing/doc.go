// Package tracing records the spans of runs for OpenTelemetry.
//
// The environment configures it, by the variables OTEL_* of the OpenTelemetry specification. Without them Open returns nil, and no
// code of this package runs for a run.
//
// # Guarantees
//
//   - No run waits for the collector. Spans wait in a queue of bounded length. If the queue is full, spans are dropped.
//   - The ids of a run, and of its attempts, follow from the record of the run. So TRACEPARENT is the same with and without
//     tracing, and a leader records the span of an attempt whose worker was lost.
//
// # Not guaranteed
//
//   - Spans that a process has not sent are lost when it is killed. OTEL_BSP_SCHEDULE_DELAY bounds their age.
package tracing
