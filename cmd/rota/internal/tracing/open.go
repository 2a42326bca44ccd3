package tracing

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Config holds the parameters of Open.
type Config struct {
	Node    string // of this process
	Version string
	Now     func() time.Time
}

// Open returns the tracer that the environment asks for; nil if it asks for none. It does not wait for the collector.
func Open(ctx context.Context, cfg Config, log hclog.Logger) (*Tracer, error) {
	on, err := wanted()
	if !on || err != nil {
		return nil, err
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "rota"), attribute.String("service.version", cfg.Version),
		attribute.String("service.instance.id", cfg.Node),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("tracing has a problem", "err", err) }))
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithIDGenerator(generator{}),
		sdk.WithBatcher(&reporter{SpanExporter: exporter, log: log}))
	log.Info("traces are exported")
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/rota-scheduler/rota"), now: cfg.Now}, nil
}

// wanted reports whether the environment asks for traces.
func wanted() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	case "":
		return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != "", nil
	default:
		return false, fmt.Errorf("environment variable OTEL_TRACES_EXPORTER: %q is not supported; write otlp or none", exporter)
	}
}

// newExporter returns the exporter of the protocol that the environment names.
func newExporter(ctx context.Context) (sdk.SpanExporter, error) {
	const general, traces = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	switch protocol := cmp.Or(os.Getenv(traces), os.Getenv(general)); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("environment variable %s: protocol %q is not supported; write http/protobuf or grpc", general, protocol)
	}
}

// reporter logs when the collector begins to fail and when it has recovered. A log line for each failed batch would hide others.
type reporter struct {
	sdk.SpanExporter
	log     hclog.Logger
	failing atomic.Bool
}

// ExportSpans sends spans to the collector. Spans that the collector does not take are dropped.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && r.failing.CompareAndSwap(false, true):
		r.log.Warn("collector of traces does not take spans; they are dropped, and runs go on", "err", err)
	case err == nil && r.failing.CompareAndSwap(true, false):
		r.log.Info("collector of traces takes spans again")
	}
	return nil
}
