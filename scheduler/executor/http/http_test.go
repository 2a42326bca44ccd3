package httpx_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

// seen is what a target got.
type seen struct {
	Method, URL, Host, Body string
	Header                  http.Header
}

// target starts a server that answers with h and remembers what it got.
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

func exit(code int) *int { return &code }

func TestRequestTellsTheAttempt(t *testing.T) {
	url, got := target(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })
	t.Setenv("ROTA_TEST_TOKEN", `s3"cret{{`)
	var out bytes.Buffer
	req := request(job.HTTP{
		URL: url + "/{{ .Job }}?run={{ .Run | urlquery }}", Method: "put",
		Headers: map[string]string{
			"Authorization": "Bearer ${env:ROTA_TEST_TOKEN}", "Host": "billing.internal", "rota-fencing-token": "1",
		},
		JSON: json.RawMessage(`{"month":"{{ .Slot.Format \"2006-01\" }}","slot":"{{ .Slot }}","n":12345678901234567890,` +
			`"list":["{{ .Attempt }}/{{ .Token }}","${env:ROTA_TEST_TOKEN}"],"t":true,"<":null}`),
	}, &out)
	o := newExecutor(t).Execute(t.Context(), req)
	if diff := cmp.Diff(job.Outcome{State: job.Succeeded, At: at, Exit: exit(200)}, o); diff != "" {
		t.Fatalf("outcome (-want +got):\n%s", diff)
	}
	want := seen{
		Method: "PUT", URL: "/charge?run=charge%2F2026-11-21T02%3A30%3A00Z", Host: "billing.internal",
		Body: `{"<":null,"list":["2/77","s3\"cret{{"],"month":"2026-11","n":12345678901234567890,"slot":"2026-11-21T02:30:00Z","t":true}`,
		Header: http.Header{
			"Authorization": {`Bearer s3"cret{{`}, "Content-Type": {"application/json"},
			"User-Agent": {"rota/1.2"}, "Traceparent": {"00-1-2-01"},
			"Rota-Job": {"charge"}, "Rota-Run": {"charge/2026-11-21T02:30:00Z"}, "Rota-Slot": {"2026-11-21T02:30:00Z"},
			"Rota-Attempt": {"2"}, "Rota-Fencing-Token": {"77"}, "Idempotency-Key": {`"charge/2026-11-21T02:30:00Z"`},
			"Content-Length": {"121"},
		},
	}
	if diff := cmp.Diff([]seen{want}, got()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if out.String() != "done" {
		t.Errorf("output %q, want the body", out.String())
	}
}

func TestBody(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	for _, tt := range []struct {
		name             string
		spec             job.HTTP
		payload          string
		method, body, ct string
	}{
		{"none", job.HTTP{}, "", "GET", "", ""},
		{"none with a POST", job.HTTP{Method: "POST"}, "", "POST", "", ""},
		{"text as it is", job.HTTP{Body: "job={{ .Job }}"}, "", "POST", "job=charge", ""},
		{"text with a type", job.HTTP{Body: "<a/>", Headers: map[string]string{"content-type": "text/xml"}}, "", "POST", "<a/>", "text/xml"},
		{"the payload", job.HTTP{Method: "POST"}, `{"a": "{{ .Job }}"}`, "POST", `{"a": "{{ .Job }}"}`, "application/json"},
		{"the payload of a GET", job.HTTP{}, `{"a":1}`, "GET", `{"a":1}`, "application/json"},
		{"the job's goes before the payload", job.HTTP{JSON: json.RawMessage(`[1.50]`)}, `{"a":1}`, "POST", `[1.50]`, "application/json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.URL = url
			req := request(tt.spec, io.Discard)
			req.Run.Payload = json.RawMessage(tt.payload)
			if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
				t.Fatalf("outcome %+v", o)
			}
			all := got()
			last := all[len(all)-1]
			if last.Method != tt.method || last.Body != tt.body || last.Header.Get("Content-Type") != tt.ct {
				t.Errorf("got %s %q as %q, want %s %q as %q", last.Method, last.Body, last.Header.Get("Content-Type"), tt.method, tt.body, tt.ct)
			}
			if te := last.Header.Get("Transfer-Encoding"); te != "" {
				t.Errorf("sent in chunks: %s", te)
			}
		})
	}
}

func TestIdempotencyKeyIsAStructuredString(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	e := newExecutor(t)
	for key, want := range map[string]string{
		"order-7": `"order-7"`, `a"b\c`: `"a\"b\\c"`, "ü\n": `"%C3%BC%0A"`, "${env:HOME}{{ .Run }}": `"${env:HOME}{{ .Run }}"`,
	} {
		req := request(job.HTTP{URL: url}, io.Discard)
		req.Run.Key = key
		e.Execute(t.Context(), req)
		all := got()
		if k := all[len(all)-1].Header.Get("Idempotency-Key"); k != want {
			t.Errorf("key %q: got %s, want %s", key, k, want)
		}
	}
	req := request(job.HTTP{URL: url, Headers: map[string]string{"IDEMPOTENCY-KEY": "{{ .Key }}"}}, io.Discard)
	req.Run.Key = "${env:HOME}" // a caller's key is never a reference
	e.Execute(t.Context(), req)
	all := got()
	if k := all[len(all)-1].Header.Values("Idempotency-Key"); len(k) != 1 || k[0] != "${env:HOME}" {
		t.Errorf("the job's own form: got %q", k)
	}
}

func TestStatus(t *testing.T) {
	var status atomic.Int64
	var after atomic.Value
	url, got := target(t, func(w http.ResponseWriter, _ *http.Request) {
		if s := after.Load().(string); s != "" {
			w.Header().Set("Retry-After", s)
		}
		w.Header().Set("Location", "/elsewhere")
		w.Header()["Date"] = nil // it does not tell its clock
		w.WriteHeader(int(status.Load()))
	})
	e := newExecutor(t)
	for _, tt := range []struct {
		status int
		after  string
		expect []int
		want   job.Outcome
	}{
		{200, "", nil, job.Outcome{State: job.Succeeded}},
		{204, "", nil, job.Outcome{State: job.Succeeded}},
		{200, "", []int{202}, job.Outcome{State: job.Failed, Reason: "status 200 OK: not one of those that the job expects"}},
		{409, "", []int{200, 409}, job.Outcome{State: job.Succeeded}},
		{302, "", []int{302}, job.Outcome{State: job.Succeeded}},
		{302, "", nil, job.Outcome{State: job.Failed, Reason: "status 302 Found: redirects are not followed"}},
		{307, "5", nil, job.Outcome{State: job.Failed, Reason: "status 307 Temporary Redirect: redirects are not followed"}},
		{400, "", nil, job.Outcome{State: job.Failed, Reason: "status 400 Bad Request"}},
		{404, "5", nil, job.Outcome{State: job.Failed, Reason: "status 404 Not Found"}},
		{408, "", nil, job.Outcome{State: job.Failed, Reason: "status 408 Request Timeout", Retry: true}},
		{425, "", nil, job.Outcome{State: job.Failed, Reason: "status 425 Too Early", Retry: true}},
		{429, "120", nil, job.Outcome{State: job.Failed, Reason: "status 429 Too Many Requests", Retry: true, After: 2 * time.Minute}},
		{500, "", nil, job.Outcome{State: job.Failed, Reason: "status 500 Internal Server Error", Retry: true}},
		{503, "Sat, 21 Nov 2026 02:31:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: time.Minute}},
		{503, "Sat, 21 Nov 2026 02:29:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true}},
		{503, "9223372036854775807", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: 24 * time.Hour}},
		{503, "Sat, 21 Nov 2099 02:31:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: 24 * time.Hour}},
		{503, "soon", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true}},
		{599, "", nil, job.Outcome{State: job.Failed, Reason: "status 599", Retry: true}},
	} {
		t.Run(fmt.Sprint(tt.status, tt.after, tt.expect), func(t *testing.T) {
			status.Store(int64(tt.status))
			after.Store(tt.after)
			before := len(got())
			o := e.Execute(t.Context(), request(job.HTTP{URL: url, Expect: tt.expect}, io.Discard))
			tt.want.At, tt.want.Exit = at, exit(tt.status)
			if diff := cmp.Diff(tt.want, o); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if n := len(got()) - before; n != 1 {
				t.Errorf("target got %d requests, want 1", n)
			}
		})
	}
}

func TestADateToRetryAfterIsByTheTargetsClock(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		theirs := at.Add(-time.Hour) // or ours is an hour ahead
		w.Header().Set("Date", theirs.Format(http.TimeFormat))
		w.Header().Set("Retry-After", theirs.Add(2*time.Minute).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, io.Discard)); o.After != 2*time.Minute {
		t.Errorf("tried again after %v, want two minutes", o.After)
	}
}

// TestAttemptIsSentOnce plays a target that serves the first request of a connection, and reads the second one on it
// and hangs up without an answer: where net/http would send again what it takes for idempotent.
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

func TestMistakesAreNotRetried(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spec   job.HTTP
		reason string
		retry  bool
	}{
		{"unknown field", job.HTTP{URL: "http://x/{{ .Month }}"}, "Month", false},
		{"broken template", job.HTTP{URL: "http://x/{{ .Run"}, "unclosed action", false},
		{"no address", job.HTTP{URL: "/path"}, "url: not an absolute http or https address", false},
		{"another protocol", job.HTTP{URL: "file:///etc/passwd"}, "url: not an absolute http or https address", false},
		{"bad method", job.HTTP{URL: "http://x", Method: "A B"}, "method", false},
		{"bad JSON", job.HTTP{URL: "http://x", JSON: json.RawMessage(`{`)}, "json", false},
		{"missing reference", job.HTTP{URL: "http://x", Body: "${env:ROTA_TEST_MISSING}"}, "reference ${env:ROTA_TEST_MISSING}: variable is not set on this worker", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newExecutor(t).Execute(t.Context(), request(tt.spec, io.Discard))
			if o.State != job.Failed || o.Retry != tt.retry || o.Exit != nil || !strings.Contains(o.Reason, tt.reason) {
				t.Errorf("got %+v, want %q", o, tt.reason)
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

func TestAStatusThatFailsStands(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   job.Outcome
	}{
		{404, job.Outcome{State: job.Failed, At: at, Exit: exit(404), Reason: "status 404 Not Found"}},
		{429, job.Outcome{State: job.Failed, At: at, Exit: exit(429), Reason: "status 429 Too Many Requests", Retry: true, After: 7 * time.Second}},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			req := request(job.HTTP{URL: url}, io.Discard)
			req.Beat = func() { cancel(executor.ErrTimeout) } // the head of the response is there, its end never comes
			o := newExecutor(t).Execute(ctx, req)
			if diff := cmp.Diff(tt.want, o); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// The request may have been served: to repeat it since its answer was packed badly would be doing it twice.
func TestABadlyPackedAnswerIsNoFailure(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		fmt.Fprint(w, "charged")
	})
	var out bytes.Buffer
	o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST"}, &out))
	if o.State != job.Succeeded || out.String() != "charged" {
		t.Errorf("output %q, outcome %+v", out.String(), o)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Setenv("ROTA_TEST_TOKEN", "s3cret")
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "you said %s", r.Header["X-Token"]) })
	var out bytes.Buffer
	o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url, Headers: map[string]string{"X-Token": "${env:ROTA_TEST_TOKEN}"}}, &out))
	if o.State != job.Succeeded || out.String() != "you said [***]" {
		t.Errorf("output %q, outcome %+v", out.String(), o)
	}
	o = newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: "http://127.0.0.1:1/${env:ROTA_TEST_TOKEN}"}, &out))
	if o.State != job.Failed || strings.Contains(o.Reason, "s3cret") {
		t.Errorf("reason %q", o.Reason)
	}
	o = newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: "http://${env:ROTA_TEST_TOKEN}.invalid"}, &out))
	if o.State != job.Failed || strings.Contains(o.Reason, "s3cret") {
		t.Errorf("reason %q", o.Reason)
	}
}

func TestLongResponseIsReadToItsEnd(t *testing.T) {
	const size = 3 << 20
	url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, io.LimitReader(zeros{}, size)) })
	var out bytes.Buffer
	o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, &out))
	if o.State != job.Succeeded || out.Len() < 1<<20 || out.Len() > 1<<20+200 {
		t.Errorf("outcome %+v, %d bytes of output", o, out.Len())
	}
}

func TestEndlessResponseIsGivenUp(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, zeros{}) })
	if o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, io.Discard)); o.State != job.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
