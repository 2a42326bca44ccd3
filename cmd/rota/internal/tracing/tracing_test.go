package tracing

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// run returns a run whose attempt has ended.
func run(state job.State) job.Run {
	now := time.Now()
	return job.Run{Job: "charge", ID: "2026-11-23T04:20:00Z", State: state, Attempt: 1, Token: 42, Worker: "w1", Created: now, Finished: now}
}

// receiver is a collector that speaks gRPC.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans map[string]*wire.Span // guarded by mu; by name
}

func (r *receiver) Export(_ context.Context, batch *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, process := range batch.ResourceSpans {
		for _, library := range process.ScopeSpans {
			for _, s := range library.Spans {
				r.spans[s.Name] = s
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// target is an executor that remembers its trace context.
type target struct{ parent string }

func (e *target) Execute(_ context.Context, req executor.Request) job.Outcome {
	e.parent = req.TraceParent
	return job.Outcome{State: job.Succeeded}
}

func open(t *testing.T, endpoint string) *Tracer {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	tracer, err := Open(t.Context(), Config{Node: "q1", Version: "test", Now: time.Now}, hclog.NewNullLogger())
	if err != nil || tracer == nil {
		t.Fatalf("got %v, %v, want a tracer", tracer, err)
	}
	return tracer
}

func TestSpansOfARunOverGRPC(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, server := &receiver{spans: make(map[string]*wire.Span)}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, got)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(ln) })
	defer wg.Wait()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	tracer := open(t, "http://"+ln.Addr().String())

	r, e := run(job.Succeeded), &target{}
	tracer.Decided(job.Decision{Run: new(run(job.Armed))}, job.Applied{Rev: 7}, time.Now(), time.Now())
	tracer.Claimed(&r, time.Millisecond)
	o := Executor{e, tracer}.Execute(t.Context(), executor.Request{Run: r, Spec: job.Spec{HTTP: &job.HTTP{}}})
	tracer.Ended(&r, &o, time.Millisecond)
	tracer.Settled(&r, &r, time.Millisecond)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	if want := r.TraceParent(true); e.parent != want {
		t.Errorf("the target got trace context %q, want %q", e.parent, want)
	}
	for name, parent := range map[string]string{
		"run charge": "", "decide": "run charge", "commit": "decide", "claim": "run charge", "execute": "run charge",
		"request": "execute", "settle": "run charge",
	} {
		s := got.spans[name]
		if s == nil {
			t.Errorf("there is no span %q", name)
			continue
		}
		if p := got.spans[parent]; p == nil && len(s.ParentSpanId) > 0 || p != nil && string(p.SpanId) != string(s.ParentSpanId) {
			t.Errorf("span %q is no child of %q", name, parent)
		}
	}
}

func TestACollectorThatDoesNotAnswerDelaysNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts, so nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	tracer := open(t, "http://"+ln.Addr().String())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := run(job.Succeeded)
		for range 10_000 { // five times the length of the queue
			tracer.Claimed(&r, 0)
		}
		_ = tracer.Close()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second): // the exporter itself waits for ten seconds, and tries again for a minute
		t.Error("spans wait for the collector")
	}
}

func TestTheSamplerDecidesForTheWholeTrace(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tracer, r, e := open(t, "http://127.0.0.1:1"), run(job.Running), &target{}
	defer func() { _ = tracer.Close() }()
	_ = Executor{e, tracer}.Execute(t.Context(), executor.Request{Run: r})
	if !strings.HasSuffix(e.parent, "-00") || tracer.TraceID(&r) != "" {
		t.Errorf("trace context %q and trace %q of a run that is not sampled", e.parent, tracer.TraceID(&r))
	}
}

func TestTheEnvironmentDecides(t *testing.T) {
	for _, test := range []struct {
		env   map[string]string
		on    bool
		wrong string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER: "zipkin" is not supported`},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, `protocol "http/json"`},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			tracer, err := Open(t.Context(), Config{Node: "q1", Now: time.Now}, hclog.NewNullLogger())
			if test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) || test.wrong == "" && err != nil {
				t.Errorf("%v: got error %v, want %q", test.env, err, test.wrong)
			}
			if (tracer != nil) != test.on {
				t.Errorf("%v: got tracer %v, want %v", test.env, tracer, test.on)
			}
			if tracer != nil {
				_ = tracer.Close()
			}
		})
	}
}
