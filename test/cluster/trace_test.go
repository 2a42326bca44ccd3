package cluster

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// receiver is a collector of OpenTelemetry. It keeps the spans that it receives.
type receiver struct {
	server *httptest.Server

	mu    sync.Mutex
	spans map[[16]byte][]*wire.Span // guarded by mu; by the ids of their traces
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{spans: make(map[[16]byte][]*wire.Span)}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var batch collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &batch)
		}
		if err != nil {
			t.Errorf("export of spans: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, process := range batch.ResourceSpans {
			for _, library := range process.ScopeSpans {
				for _, s := range library.Spans {
					r.spans[[16]byte(s.TraceId)] = append(r.spans[[16]byte(s.TraceId)], s)
				}
			}
		}
	}))
	t.Cleanup(r.server.Close)
	return r
}

// trace returns the spans of a run.
func (r *receiver) trace(run *job.Run) []*wire.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spans[run.TraceIDs().Trace]
}

// silentCollector returns the address of a collector that accepts connections and never answers.
func silentCollector(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // the system completes connections that nobody accepts
	return "http://" + ln.Addr().String()
}

// TestATraceSurvivesTheLeader kills a leader while it executes attempts. The collector still gets the whole trace of each run: the
// next leader adds the spans of the attempts that were lost. The spans of the target are children of the calls.
func TestATraceSurvivesTheLeader(t *testing.T) {
	row(t)
	t.Parallel()
	spans := newReceiver(t)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(spans.server.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	sink, release := NewSink(t), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		_, own := provider.Tracer("target").Start(ctx, "target")
		sink.serve(w, r)
		own.End()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { target.CloseClientConnections(); target.Close() })
	end := time.Now().Add(startTime + 8*time.Second).Truncate(time.Second)
	c := Start(t, Config{
		Binary: binary,
		Jobs: map[string]job.Spec{"charge": {
			Every: job.Duration(time.Second), End: &end, Overlap: job.OverlapAllow, HTTP: &job.HTTP{URL: target.URL, Method: "POST"},
		}},
		Prepare: func(c *Cluster) {
			for _, n := range c.replicas {
				n.Env = append(n.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.server.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
			}
		},
	})
	leader := c.Leader()
	Await(t, 30*time.Second, "the leader executes attempts", func() bool {
		for _, r := range c.Recorder.Runs("charge") {
			if r.Worker == leader.Name && r.State == job.Running && time.Since(r.Started) > time.Second {
				return true
			}
		}
		return false
	})
	killed := time.Now()
	leader.Kill()
	if c.Leader() == leader {
		t.Fatalf("%s leads again: the fault took no effect", leader.Name)
	}
	close(release)
	leader.Start()
	Let(time.Until(end))
	c.AwaitEnd(time.Minute)
	c.Judge(sink.Requests(), nil, nil)

	again := 0
	for _, r := range c.Recorder.Runs("charge") {
		if len(r.Attempts) == 0 {
			continue // skipped while nobody led
		}
		first := r.Attempts[0]
		if killed.Sub(first.Started) < 500*time.Millisecond {
			continue // the last spans of a killed process may be lost
		}
		if len(r.Attempts) > 1 {
			again++
		}
		if !Within(5*time.Second, func() bool { return incomplete(spans.trace(&r), &r) == "" }) {
			t.Errorf("trace of run %s with attempts %+v: %s", r.Name(), r.Attempts, incomplete(spans.trace(&r), &r))
		}
	}
	if again == 0 {
		t.Error("no run had a lost attempt: the fault took no effect")
	}
}

// TestACollectorThatHangsHoldsNothingUp has a collector that never answers. Every slot still gets its run.
func TestACollectorThatHangsHoldsNothingUp(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	end := time.Now().Add(startTime + 6*time.Second).Truncate(time.Second)
	c := Start(t, Config{
		Binary: binary, Replicas: 1,
		Jobs: map[string]job.Spec{"ping": {
			Every: job.Duration(time.Second), End: &end, Overlap: job.OverlapAllow, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		}},
		Prepare: func(c *Cluster) {
			c.replicas[0].Env = append(c.replicas[0].Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+silentCollector(t),
				"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BSP_EXPORT_TIMEOUT=500", "OTEL_BSP_MAX_QUEUE_SIZE=10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10")
		},
	})
	Await(t, 20*time.Second, "the collector is too slow", func() bool {
		return strings.Contains(c.replicas[0].Log(), "collector of traces does not take spans")
	})
	Let(time.Until(end))
	c.AwaitEnd(time.Minute)
	c.Judge(sink.Requests(), nil, nil)
}

// incomplete returns what a trace of a run lacks; "" if it is whole.
func incomplete(spans []*wire.Span, run *job.Run) string {
	byID, names := make(map[string]*wire.Span), make(map[string]int)
	for _, s := range spans {
		byID[string(s.SpanId)] = s
		names[s.Name]++
	}
	ids := run.TraceIDs()
	if root := byID[string(ids.Run[:])]; root == nil || len(root.ParentSpanId) > 0 {
		return "the span of the run is missing"
	}
	for _, name := range []string{"decide", "commit", "claim", "execute", "request", "settle", "target"} {
		if names[name] == 0 {
			return "there is no span " + name
		}
	}
	for _, a := range run.Attempts {
		execute, call := run.AttemptSpans(a.Token)
		if byID[string(execute[:])] == nil || byID[string(call[:])] == nil {
			return "a span of attempt " + a.Worker + " is missing"
		}
	}
	for _, s := range spans {
		parent := byID[string(s.ParentSpanId)]
		switch {
		case len(s.ParentSpanId) == 0 && string(s.SpanId) == string(ids.Run[:]):
		case parent == nil:
			return "the parent of span " + s.Name + " is missing"
		case s.Name == "target" && parent.Name != "request" && parent.Name != "call":
			return "the span of the target is a child of " + parent.Name
		}
	}
	return ""
}
