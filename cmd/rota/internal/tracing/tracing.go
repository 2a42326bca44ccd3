package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Tracer records spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	now      func() time.Time
}

// closeTimeout bounds how long Close waits for the collector.
const closeTimeout = time.Second

// Close sends the spans that wait. It gives them up after a second.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has logged why it failed
	return nil
}

// TraceID returns the id of the run's trace in hexadecimal digits; "" if the sampler leaves the trace out.
func (t *Tracer) TraceID(run *job.Run) string {
	ids := run.TraceIDs()
	if !t.sampled(ids) {
		return ""
	}
	return hex.EncodeToString(ids.Trace[:])
}

// sampled asks the sampler about a trace. Each process gets the same answer, because samplers use only the trace's id.
func (t *Tracer) sampled(ids job.TraceIDs) bool {
	_, root := t.tracer.Start(withIDs(ids.Trace, ids.Run), "run") //nolint:spancheck // it never ends, so it is never sent
	return root.SpanContext().IsSampled()                         //nolint:spancheck // see above
}

// span is one span of a run.
type span struct {
	name     string
	kind     trace.SpanKind
	id       trace.SpanID // zero: random
	parent   trace.SpanID // zero: the span of the run
	root     bool         // the span of the run
	from, to time.Time
	state    job.State // of the run or attempt; "": none
	reason   string
	attrs    []attribute.KeyValue
}

// record records the spans of a run. It returns the id of the last one.
func (t *Tracer) record(run *job.Run, spans ...span) (last trace.SpanID) {
	ids := run.TraceIDs()
	if !t.sampled(ids) {
		return last
	}
	for _, s := range spans {
		ctx := withIDs(ids.Trace, s.id)
		if s.root {
			ctx = withIDs(ids.Trace, ids.Run)
		} else {
			parent := s.parent
			if !parent.IsValid() {
				parent = ids.Run
			}
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: ids.Trace, SpanID: parent, TraceFlags: trace.FlagsSampled,
			}))
		}
		attrs := append(slices.Clone(s.attrs), attribute.String("rota.job", run.Job), attribute.String("rota.run", run.Name()))
		if s.state != "" {
			attrs = append(attrs, attribute.String("rota.state", string(s.state)))
		}
		if s.reason != "" {
			attrs = append(attrs, attribute.String("rota.reason", s.reason))
		}
		_, sp := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.from), trace.WithAttributes(attrs...))
		if s.state.IsFailure() {
			sp.SetStatus(codes.Error, s.reason)
		}
		sp.End(trace.WithTimestamp(s.to))
		last = sp.SpanContext().SpanID()
	}
	return last
}

// idsKey is the key of the ids in the context of a new span.
type idsKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID // zero: random
}

func withIDs(t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(context.Background(), idsKey{}, ids{t, s})
}

// generator gives spans the ids of their context.
type generator struct{}

// NewIDs returns the ids of a root span.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	i, _ := ctx.Value(idsKey{}).(ids)
	return i.trace, i.span
}

// NewSpanID returns the id of a span with a parent.
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if i, _ := ctx.Value(idsKey{}).(ids); i.span.IsValid() {
		return i.span
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // an id is not a secret
	}
	return id
}
