package httpx_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/executor"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestMain lets the test binary act as a worker that is suspended.
func TestMain(m *testing.M) {
	if url := os.Getenv("ROTA_TEST_PAUSED"); url != "" {
		executeUntilHungUp(url)
		return
	}
	goleak.VerifyTestMain(m)
}

var at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

// seen is a request that the target received.
type seen struct {
	Method, URL, Host, Body string
	Header                  http.Header
}

// target starts a server that answers with h and records its requests.
func target(t *testing.T, h http.HandlerFunc) (url string, got func() []seen) {
	t.Helper()
	var (
		mu   sync.Mutex
		list []seen
	)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		list = append(list, seen{r.Method, r.URL.String(), r.Host, string(b), r.Header})
		mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []seen { mu.Lock(); defer mu.Unlock(); return list }
}

func newExecutor(t *testing.T) *httpx.Executor {
	e := httpx.New(httpx.Config{Version: "1.2"}, func() time.Time { return at })
	t.Cleanup(e.Close)
	return e
}

func request(spec job.HTTP, out io.Writer) executor.Request {
	return executor.Request{
		Run:  job.Run{Job: "charge", ID: "2026-11-21T02:30:00Z", Slot: at, Attempt: 2, Token: 77},
		Spec: job.Spec{HTTP: &spec}.WithDefaults(), Deadline: at.Add(time.Minute), Output: out, TraceParent: "00-1-2-01",
	}
}

// TestAttemptIsSentOnce uses a target that serves the first request of a connection, reads the second one and closes the
// connection without an answer. net/http by itself would repeat a request that it considers idempotent.
func TestAttemptIsSentOnce(t *testing.T) {
	for _, spec := range []job.HTTP{
		{Method: "GET"}, {Method: "HEAD"}, {Method: "OPTIONS"}, {Method: "DELETE"}, {Method: "TRACE"},
		{Method: "POST"}, {Method: "POST", Body: "x"}, {Method: "PUT", JSON: json.RawMessage(`{}`)}, {Method: "GET", Body: "x"},
		{Method: "POST", Body: "x", Headers: map[string]string{"X-Idempotency-Key": "k"}},
		{Method: "POST", Body: "x", Headers: map[string]string{"Idempotency-Key": "k"}},
	} {
		t.Run(fmt.Sprint(spec.Method, " body:", spec.Body, string(spec.JSON), " headers:", len(spec.Headers)), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var requests atomic.Int64
			var wg sync.WaitGroup
			t.Cleanup(func() { l.Close(); wg.Wait() })
			wg.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					wg.Go(func() {
						defer c.Close()
						r := bufio.NewReader(c)
						for n := 0; ; n++ {
							req, err := http.ReadRequest(r)
							if err != nil {
								return
							}
							io.Copy(io.Discard, req.Body)
							requests.Add(1)
							if n > 0 {
								return
							}
							io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
						}
					})
				}
			})
			e := newExecutor(t)
			spec.URL = "http://" + l.Addr().String()
			if o := e.Execute(t.Context(), request(spec, io.Discard)); o.State != job.Succeeded {
				t.Fatalf("first attempt: %+v", o)
			}
			o := e.Execute(t.Context(), request(spec, io.Discard))
			want := job.Outcome{State: job.Failed, At: at, Reason: o.Reason, Retry: true}
			if diff := cmp.Diff(want, o); diff != "" || !strings.HasPrefix(o.Reason, "request: ") {
				t.Errorf("second attempt (-want +got):\n%s%s", diff, o.Reason)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("two attempts sent %d requests, want 2", n)
			}
		})
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	e := newExecutor(t)
	for range 5 {
		e.Execute(t.Context(), request(job.HTTP{URL: srv.URL}, io.Discard))
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for five attempts in a row, want 1", n)
	}
}

// Servers that close unused connections after two seconds are common. The worker closes them first.
func TestUnusedConnectionsAreClosedSoon(t *testing.T) {
	idle, closed := make(chan time.Time, 1), make(chan time.Time, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateIdle:
			idle <- time.Now()
		case http.StateClosed:
			closed <- time.Now()
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: srv.URL}, io.Discard))
	if unused := (<-closed).Sub(<-idle); unused > 1500*time.Millisecond {
		t.Errorf("an unused connection was closed after %v", unused)
	}
}

func TestBrokenConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	hangup, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	for _, tt := range []struct{ name, url, reason string }{
		{"nobody listens", nobody, "connection refused"},
		{"closed without an answer", hangup, "request: connection closed by the target"},
		{"closed in the middle of the answer", hangup + "/half", "response with status 200 broke off: connection closed by the target"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: tt.url + "?key=value"}, io.Discard))
			if o.State != job.Failed || !o.Retry || !strings.Contains(o.Reason, tt.reason) || strings.Contains(o.Reason, "key=") {
				t.Errorf("got %+v, want a failure with %q that may be retried", o, tt.reason)
			}
		})
	}
}

func TestContextEndsTheRequest(t *testing.T) {
	for name, path := range map[string]string{"before the answer": "/", "in the middle of the answer": "/half"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/half" {
					io.WriteString(w, "half")
					w.(http.Flusher).Flush()
				}
				cancel(executor.ErrTimeout)
				<-r.Context().Done()
			})
			o := newExecutor(t).Execute(ctx, request(job.HTTP{URL: url + path}, io.Discard))
			if o.State != job.TimedOut || o.Reason != "timed out after 24h" {
				t.Errorf("got %+v, want timed out", o)
			}
		})
	}
}
