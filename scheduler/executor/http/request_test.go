package httpx_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestRequestDescribesTheAttempt(t *testing.T) {
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
	if diff := cmp.Diff(job.Outcome{State: job.Succeeded, At: at, Exit: new(200)}, o); diff != "" {
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
		{"text without a type", job.HTTP{Body: "job={{ .Job }}"}, "", "POST", "job=charge", ""},
		{"text with a type", job.HTTP{Body: "<a/>", Headers: map[string]string{"content-type": "text/xml"}}, "", "POST", "<a/>", "text/xml"},
		{"the payload", job.HTTP{Method: "POST"}, `{"a": "{{ .Job }}"}`, "POST", `{"a": "{{ .Job }}"}`, "application/json"},
		{"the payload of a GET", job.HTTP{}, `{"a":1}`, "GET", `{"a":1}`, "application/json"},
		{"the job's body replaces the payload", job.HTTP{JSON: json.RawMessage(`[1.50]`)}, `{"a":1}`, "POST", `[1.50]`, "application/json"},
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
	req.Run.Key = "${env:HOME}" // a client's key is never a reference
	e.Execute(t.Context(), req)
	all := got()
	if k := all[len(all)-1].Header.Values("Idempotency-Key"); len(k) != 1 || k[0] != "${env:HOME}" {
		t.Errorf("the job's own form: got %q", k)
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
		{"line break in a header", job.HTTP{URL: "http://x", Headers: map[string]string{"X-A": "a\nb"}}, "header X-A: its value", false},
		{"bad JSON", job.HTTP{URL: "http://x", JSON: json.RawMessage(`{`)}, "json", false},
		{"missing reference", job.HTTP{URL: "http://x", Body: "${env:ROTA_TEST_MISSING}"}, "reference ${env:ROTA_TEST_MISSING}: variable is not set here", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newExecutor(t).Execute(t.Context(), request(tt.spec, io.Discard))
			if o.State != job.Failed || o.Retry != tt.retry || o.Exit != nil || !strings.Contains(o.Reason, tt.reason) {
				t.Errorf("got %+v, want %q", o, tt.reason)
			}
		})
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
