package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A header that has one value is refused if there are two. Otherwise two programs on the way could read different ones.
func TestAHeaderIsSentOnce(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	for _, name := range []string{
		"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Origin", "Sec-Fetch-Site",
		"Rota-By", "Rota-Node",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/jobs/report/runs", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Add(name, "one")
		req.Header.Add(name, "two")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || len(f.runs) > 0 {
			t.Errorf("two values of %s: got %d and %d runs, want 400 and none", name, res.StatusCode, len(f.runs))
		}
	}
	if a := ask(t, srv, "POST", "/v1/jobs/report/runs", "{}", "Content-Type", "application/json", "Idempotency-Key", "one"); a.status != 201 {
		t.Errorf("one value: got %d %s", a.status, a.text)
	}
}

// A body of 1 MiB has room for many mistakes. The answer names some of them, and takes little time.
func TestManyMistakesAreNamedInPart(t *testing.T) {
	var body strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&body, `"unknown%d":1,`, i)
	}
	began := time.Now()
	a := ask(t, serve(t, newFake().backend()), "POST", "/v1/jobs/report/runs", "{"+body.String()+`"key":"k"}`, "Content-Type", "application/json")
	p := a.problem(t)
	if a.status != 422 || len(p.Errors) != 25 || !strings.Contains(p.Detail, "unknown field") || !strings.Contains(p.Detail, "and 49997 more") {
		t.Errorf("got %d, %d errors and %q", a.status, len(p.Errors), p.Detail)
	}
	if took := time.Since(began); took > 10*time.Second { // without the bound it takes minutes
		t.Errorf("the answer took %v", took)
	}
}

func TestAFieldIsGivenOnce(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	for _, tt := range []struct {
		path, body, field string // field is that of the refusal; empty: accepted
	}{
		{"/v1/jobs/report/runs", `{"payload":{"a":1,"a":2},"key":"k"}`, ""},
		{"/v1/jobs/report/runs", `{"payload":[{"key":1},{"key":2}],"key":"l","params":{}}`, ""},
		{"/v1/jobs/report/runs", `{"payload":1,"payload":2}`, "body.payload"},
		{"/v1/jobs/report/runs", `{"payload":1,"p\u0061yload":2}`, "body.payload"},
		{"/v1/jobs/report/runs", `{"key":"a","KEY":"b"}`, "body.KEY"},
		{"/v1/jobs/report/runs", "{\"key\":\"a\",\"\u212aey\":\"b\"}", "body.\u212aey"},
		{"/v1/jobs/report/runs", `{"params":{"day":"1","day":"2"}}`, "body.params.day"},
		{"/v1/runs", `{"shell":"true","env":{"A":"1","a":"2"}}`, ""},
		{"/v1/runs", `{"shell":"true","env":{"A":"1","A":"2"}}`, "body.env.A"},
		{"/v1/runs", `{"shell":"true","shell":"id"}`, "body.shell"},
		{"/v1/tokens", strings.Replace(newToken, `"principal"`, `"ID":"../jobs/x","principal"`, 1), "body.ID"},
		{"/v1/jobs/report/pause", `{"reason":"a","reason":"b"}`, "body.reason"},
	} {
		before := f.rev
		a := ask(t, srv, "POST", tt.path, tt.body, "Content-Type", "application/json")
		switch {
		case tt.field == "" && a.status >= 300:
			t.Errorf("%s: got %d %s", tt.body, a.status, a.text)
		case tt.field != "" && (a.status != http.StatusUnprocessableEntity || !strings.Contains(a.problem(t).Detail, tt.field+" is given twice")):
			t.Errorf("%s: got %d %s, want 422 about %s", tt.body, a.status, a.text, tt.field)
		case tt.field != "" && (f.rev != before || len(f.tokens) > 0):
			t.Errorf("%s: the refused request changed something", tt.body)
		}
	}
	// The editor of definitions reports this itself, with the field.
	if a := ask(t, srv, "PUT", "/v1/jobs/new", `{"shell":"true","shell":"id"}`, "Content-Type", "application/json"); a.status != 422 ||
		!strings.Contains(a.text, "duplicate key") {
		t.Errorf("a definition: got %d %s", a.status, a.text)
	}
}

// A body of a megabyte can have 200,000 levels. The search for repeated fields must not keep all of them in memory.
func TestADeepBodyIsRefused(t *testing.T) {
	srv := serve(t, newFake().backend())
	const levels = 20_000
	body := strings.Repeat(`{"a":`, levels) + `{"b":1,"b":2}` + strings.Repeat("}", levels)
	a := ask(t, srv, "POST", "/v1/jobs/report/pause", body, "Content-Type", "application/json")
	if a.status != http.StatusBadRequest || !strings.Contains(a.text, "exceeded max depth") {
		t.Errorf("got %d %.300s", a.status, a.text)
	}
}

func TestAllowNamesAllMethods(t *testing.T) {
	srv := serve(t, newFake().backend())
	for path, want := range map[string]string{
		"/v1/jobs/report": "GET, HEAD, PUT, DELETE", "/v1/jobs/report/pause": "POST", "/livez": "GET, HEAD",
	} {
		if a := ask(t, srv, "PATCH", path, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != want {
			t.Errorf("%s: got %d and %q, want 405 and %q", path, a.status, a.header.Get("Allow"), want)
		}
	}
}

// The type of a body counts without regard to case and space, as RFC 9110 says.
func TestTheTypeOfABodyHasAnyCase(t *testing.T) {
	srv := serve(t, newFake().backend())
	for _, kind := range []string{"APPLICATION/JSON", "application/json ; charset=utf-8", "Application/Json;Charset=UTF-8"} {
		if a := ask(t, srv, "POST", "/v1/jobs/report/pause", "{}", "Content-Type", kind); a.status != 200 {
			t.Errorf("%s: got %d %s", kind, a.status, a.text)
		}
	}
	if a := ask(t, srv, "POST", "/v1/jobs/report/pause", "{}", "Content-Type", "text/plain"); a.status != 415 {
		t.Errorf("text/plain: got %d %s, want 415", a.status, a.text)
	}
}

// A filter that cannot be read must not select everything.
func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	srv := serve(t, newFake().backend())
	for _, query := range []string{"job=%zz", "job=a%", "%=b", "job=a;limit=1"} {
		if a := ask(t, srv, "GET", "/v1/runs?"+query, ""); a.status != 400 {
			t.Errorf("%s: got %d %s, want 400", query, a.status, a.text)
		}
	}
}
