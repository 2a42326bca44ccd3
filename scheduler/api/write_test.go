package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const spec = `{"schedule":["30 2 * * *"],"timeout":"30m","shell":"true"}`

func TestPutAndDelete(t *testing.T) {
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		contains                 string
	}{
		{"a new job is created", "PUT", "/v1/jobs/new", spec, nil, 201, `"timeout":"30m"`},
		{"a new job under If-None-Match", "PUT", "/v1/jobs/new", spec, []string{"If-None-Match", "*"}, 201, `"name":"new"`},
		{"an old job under If-None-Match is refused", "PUT", "/v1/jobs/report", spec, []string{"If-None-Match", "*"}, 412, "not at the revision"},
		{"the right revision passes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"102"`}, 200, `"generation":2`},
		{"the right revision passes without quotes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `102`}, 200, `"generation":2`},
		{"a weakened tag passes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `W/"102"`}, 200, `"generation":2`},
		{"a stale revision is refused", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"101"`}, 412, "not at the revision"},
		{"a missing job under If-Match * is refused", "PUT", "/v1/jobs/new", spec, []string{"If-Match", "*"}, 412, ""},
		{"no condition replaces", "PUT", "/v1/jobs/report", spec, nil, 200, `"generation":2`},
		{"a tag that is no revision", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"abc"`}, 400, "If-Match"},
		{"contradicting conditions", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"1"`, "If-None-Match", "*"}, 400, "contradict"},
		{"a job of a file names the file", "PUT", "/v1/jobs/backup", spec, nil, 409, "jobs.yaml"},
		{"a bad name", "PUT", "/v1/jobs/Nightly_Backup", spec, nil, 422, `\"nightly-backup\"`},
		{"the reserved name", "PUT", "/v1/jobs/adhoc", spec, nil, 422, "path.job"},
		{"an unknown field is named with what was meant", "PUT", "/v1/jobs/new", `{"shedule":["* * * * *"],"shell":"true"}`, nil, 422, `body.shedule: unknown field, did you mean \"schedule\"?`},
		{"an unknown nested field", "PUT", "/v1/jobs/new", `{"shell":"true","retry":{"max":1,"bakoff":"linear"}}`, nil, 422, "body.retry.bakoff"},
		{"a field given twice", "PUT", "/v1/jobs/new", `{"schedule":"@daily","timeout":"1h","shell":"true","timeout":"1m"}`, nil, 422, `body.timeout: is given twice`},
		{"an inner field given twice", "PUT", "/v1/jobs/new", `{"payload":[{"a":1,"a":1}],"shell":"true"}`, nil, 422, `body.payload.a: is given twice`},
		{"the same field of two objects", "PUT", "/v1/jobs/new", `{"payload":{"a":{"b":1},"b":{"b":1}},"shell":"true"}`, nil, 201, ``},
		{"a field in capitals", "PUT", "/v1/jobs/new", `{"Every":"5s","shell":"true"}`, nil, 422, `body.Every: unknown field, did you mean \"every\"?`},
		{"an interval of nothing", "PUT", "/v1/jobs/new", `{"every":"0s","shell":"true"}`, nil, 422, `body.every: \"0s\" is no value here`},
		{"no expressions", "PUT", "/v1/jobs/new", `{"schedule":[],"shell":"true"}`, nil, 422, `body.schedule: [] is no value here`},
		{"a limit of nothing", "PUT", "/v1/jobs/new", `{"shell":"true","resources":{"pids":0}}`, nil, 422, `body.resources.pids: 0 is no value here`},
		{"an unknown limit", "PUT", "/v1/jobs/new", `{"shell":"true","resources":{"memry":"1GiB"}}`, nil, 422, `body.resources.memry: unknown field, did you mean \"memory\"?`},
		{"an unknown field of a notifier", "PUT", "/v1/jobs/new", `{"shell":"true","notify":{"a":{"url":"x","wen":["failure"]}}}`, nil, 422, `body.notify.a.wen: unknown field, did you mean \"when\"?`},
		{"a wrong type", "PUT", "/v1/jobs/new", `{"schedule":{"cron":"* * * * *"},"shell":"true"}`, nil, 422, "body.schedule: expected array"},
		{"a wrong type of one", "PUT", "/v1/jobs/new", `{"schedule":5,"shell":"true"}`, nil, 422, "body.schedule[0]: expected string"},
		{"one that is no time", "PUT", "/v1/jobs/new", `{"at":"tomorrow","shell":"true"}`, nil, 422, "body.at[0]: expected string to be RFC 3339 date-time"},
		{"a wrong word", "PUT", "/v1/jobs/new", `{"overlap":"maybe","shell":"true"}`, nil, 422, "skip, allow, replace, queue"},
		{"a duration without a unit", "PUT", "/v1/jobs/new", `{"timeout":"30","shell":"true"}`, nil, 422, "body.timeout: expected string to be a number with a unit"},
		{"a duration as a number", "PUT", "/v1/jobs/new", `{"timeout":30,"shell":"true"}`, nil, 422, "body.timeout"},
		{"a spec that makes no sense", "PUT", "/v1/jobs/new", `{"schedule":["nonsense"],"shell":"true"}`, nil, 422, "schedule: has 1 field, not 5"},
		{"no JSON", "PUT", "/v1/jobs/new", `{`, nil, 400, "body"},
		{"no body", "PUT", "/v1/jobs/new", ``, nil, 400, "body is required"},
		{"a form", "PUT", "/v1/jobs/new", `a=b`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"a large payload", "PUT", "/v1/jobs/new", `{"shell":"true","payload":"` + strings.Repeat("x", api.MaxPayload) + `"}`, nil, 413, "payload"},
		{"a large body", "PUT", "/v1/jobs/new", `{"shell":"` + strings.Repeat("x", api.MaxBody) + `"}`, nil, 413, "bytes"},
		{"a delete", "DELETE", "/v1/jobs/report", "", []string{"If-Match", `"102"`}, 204, ""},
		{"a stale delete", "DELETE", "/v1/jobs/report", "", []string{"If-Match", `"101"`}, 412, ""},
		{"a delete of a file's job", "DELETE", "/v1/jobs/backup", "", nil, 409, "jobs.yaml"},
		{"a delete of no job", "DELETE", "/v1/jobs/reporting", "", nil, 404, `did you mean \"report\"?`},
		{"a method that is not there", "POST", "/v1/jobs/report", "", nil, 405, "GET or PUT or DELETE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := serve(t, newFake().backend())
			a := ask(t, srv, tc.method, tc.path, tc.body, tc.headers...)
			if a.status != tc.status {
				t.Fatalf("status: got %d, want %d: %s", a.status, tc.status, a.text)
			}
			if a.status >= 400 {
				a.problem(t)
			}
			if !strings.Contains(a.text, tc.contains) {
				t.Errorf("body lacks %s:\n%s", tc.contains, a.text)
			}
		})
	}
}

func TestProblemsDoNotEchoBodies(t *testing.T) {
	srv := serve(t, newFake().backend())
	for _, body := range []string{
		`{"shell":"true","env":{"PASSWORD":"hunter2"},"colour":"red"}`,
		`{"shell":"true","env":{"PASSWORD":"hunter2"},"timeout":"1"}`,
		`{"shell":"true","env":{"PASSWORD":"hunter2"}`,
		`{"shell":["hunter2"]}`,
	} {
		a := ask(t, srv, "PUT", "/v1/jobs/new", body)
		if a.status < 400 || strings.Contains(a.text, "hunter2") {
			t.Errorf("%s was answered with %d %s", body, a.status, a.text)
		}
	}
}

func TestWhoAsked(t *testing.T) {
	srv := serve(t, newFake().backend())
	v := decode[api.JobView](t, ask(t, srv, "PUT", "/v1/jobs/new", spec, api.ByHeader, "alice\t"+strings.Repeat("é", 60)))
	if got, want := v.Origin.Source, "alice"+strings.Repeat("é", 29)+" from 127.0.0.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	v = decode[api.JobView](t, ask(t, srv, "PUT", "/v1/jobs/newer", spec))
	if got, want := v.Origin.Source, "127.0.0.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPause(t *testing.T) {
	srv := serve(t, newFake().backend())
	v := decode[api.JobView](t, ask(t, srv, "POST", "/v1/jobs/backup/pause", `{"reason":"maintenance"}`))
	if v.Paused == nil || v.Paused.Reason != "maintenance" || v.Paused.By == "" || v.Paused.At.IsZero() {
		t.Errorf("after pause: got %+v, want a pause with its reason", v.Paused)
	}
	if v = decode[api.JobView](t, ask(t, srv, "POST", "/v1/jobs/backup/resume", "")); v.Paused != nil {
		t.Errorf("after resume: got %+v, want none", v.Paused)
	}
	if a := ask(t, srv, "POST", "/v1/jobs/bakup/pause", ""); a.status != 404 || !strings.Contains(a.text, "did you mean") {
		t.Errorf("pause of no job: got %d %s, want 404 with a suggestion", a.status, a.text)
	}
	g := decode[api.GateView](t, ask(t, srv, "POST", "/v1/pause", `{"reason":"move"}`))
	if g.Paused == nil || g.Paused.Reason != "move" {
		t.Errorf("after pausing all: got %+v, want a pause", g.Paused)
	}
	if a := ask(t, srv, "POST", "/v1/resume", ""); a.text != `{"paused":null}`+"\n" {
		t.Errorf("after resuming all: got %s, want paused null", a.text)
	}
	if a := ask(t, srv, "POST", "/v1/pause", `{"reasn":"x"}`); a.status != 422 {
		t.Errorf("unknown field: got %d, want 422", a.status)
	}
}

func TestSubmit(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())

	t.Run("without a body a run is made at once", func(t *testing.T) {
		a := ask(t, srv, "POST", "/v1/jobs/backup/runs", "")
		v := decode[api.RunView](t, a)
		if a.status != 201 || v.Kind != job.KindManual || v.By != "127.0.0.1" {
			t.Errorf("got %d %s, want a manual run", a.status, a.text)
		}
		if f.asked.Due.IsZero() || !f.asked.Due.Equal(f.asked.Asked) || f.asked.Payload != nil {
			t.Errorf("got due %v asked %v payload %s, want due at once with the job's own payload", f.asked.Due, f.asked.Asked, f.asked.Payload)
		}
	})
	t.Run("two submissions without a key are two runs", func(t *testing.T) {
		one := decode[api.RunView](t, ask(t, srv, "POST", "/v1/jobs/backup/runs", "{}"))
		two := decode[api.RunView](t, ask(t, srv, "POST", "/v1/jobs/backup/runs", "{}"))
		if one.Ref == two.Ref {
			t.Errorf("both are %s", one.Ref)
		}
	})
	t.Run("the same key is the same run, however it is given", func(t *testing.T) {
		first := ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"payload":{"a": 1},"in":"1h"}`, "Idempotency-Key", `"k1"`)
		want := decode[api.RunView](t, first)
		if first.status != 201 || want.Key != "k1" || want.Kind != job.KindDelayed {
			t.Fatalf("got %d %s, want a new delayed run with the key", first.status, first.text)
		}
		if d := want.Due.Sub(f.asked.Asked); d != time.Hour {
			t.Errorf("due %s after it was asked for, want 1h", d)
		}
		for _, again := range []answer{
			ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"payload":{"a":1},"in":"1h"}`, "Idempotency-Key", `k1`),
			ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"payload":{"a":1},"key":"k1"}`),
			ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"key":"k1"}`, "Idempotency-Key", `"k1"`),
		} {
			if v := decode[api.RunView](t, again); again.status != 200 || v.Ref != want.Ref {
				t.Errorf("got %d %s, want 200 and %s", again.status, again.text, want.Ref)
			}
		}
		other := ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"payload":{"a":2},"key":"k1"}`)
		if other.status != 422 || !strings.Contains(other.text, want.Ref) {
			t.Errorf("other work under the key: got %d %s, want 422 naming %s", other.status, other.text, want.Ref)
		}
	})
	t.Run("an absolute time", func(t *testing.T) {
		v := decode[api.RunView](t, ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"at":"2030-01-01T01:00:00+01:00"}`))
		if want := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC); !v.Due.Equal(want) || v.Kind != job.KindDelayed {
			t.Errorf("got due %s kind %s, want %s delayed", v.Due, v.Kind, want)
		}
	})
	t.Run("a command that is no job", func(t *testing.T) {
		a := ask(t, srv, "POST", "/v1/runs", `{"command":["echo","hi"],"env":{"A":"b"},"timeout":"5s","key":"x"}`)
		v := decode[api.RunView](t, a)
		if a.status != 201 || v.Job != job.AdHoc || v.Spec == nil || v.Spec.Timeout != job.Duration(5*time.Second) {
			t.Errorf("got %d %s, want an ad hoc run with its spec", a.status, a.text)
		}
		if again := ask(t, srv, "POST", "/v1/runs", `{"command":["echo","hi"],"env":{"A":"b"},"timeout":"5s","key":"x"}`); again.status != 200 {
			t.Errorf("again: got %d %s, want 200", again.status, again.text)
		}
		if other := ask(t, srv, "POST", "/v1/runs", `{"command":["echo","ho"],"key":"x"}`); other.status != 422 {
			t.Errorf("another command under the key: got %d, want 422", other.status)
		}
	})
	for _, tc := range []struct {
		name, path, body string
		status           int
		contains         string
	}{
		{"an unknown job", "/v1/jobs/bakup/runs", `{}`, 404, "did you mean"},
		{"in and at", "/v1/jobs/backup/runs", `{"in":"1h","at":"2030-01-01T00:00:00Z"}`, 422, "either in or at"},
		{"a bad in", "/v1/jobs/backup/runs", `{"in":"soon"}`, 422, "body.in"},
		{"a negative in", "/v1/jobs/backup/runs", `{"in":"-1h"}`, 422, "body.in"},
		{"an unknown field", "/v1/jobs/backup/runs", `{"paylod":1}`, 422, `did you mean \"payload\"?`},
		{"a long key", "/v1/jobs/backup/runs", `{"key":"` + strings.Repeat("k", 256) + `"}`, 422, "at most 255"},
		{"a key with a control character", "/v1/jobs/backup/runs", `{"key":"a\nb"}`, 422, "control character"},
		{"a large command", "/v1/runs", `{"shell":"` + strings.Repeat("x", api.MaxPayload) + `"}`, 413, "bytes"},
		{"a large payload", "/v1/jobs/backup/runs", `{"payload":"` + strings.Repeat("x", api.MaxPayload) + `"}`, 413, "payload"},
		{"the job of the jobless", "/v1/jobs/adhoc/runs", `{}`, 422, "/v1/runs"},
		{"an ad hoc run of nothing", "/v1/runs", `{}`, 422, "either command or shell"},
		{"an ad hoc run of both", "/v1/runs", `{"command":["a"],"shell":"b"}`, 422, "either command or shell"},
	} {
		t.Run(tc.name+" is refused", func(t *testing.T) {
			a := ask(t, srv, "POST", tc.path, tc.body)
			if a.status != tc.status || !strings.Contains(a.text, tc.contains) {
				t.Errorf("got %d %s, want %d with %s", a.status, a.text, tc.status, tc.contains)
			}
			a.problem(t)
		})
	}
	t.Run("a key that is given and empty is refused", func(t *testing.T) {
		for _, key := range []string{`""`, "", " "} {
			a := ask(t, srv, "POST", "/v1/jobs/backup/runs", "", "Idempotency-Key", key)
			if a.status != 422 || !strings.Contains(a.text, "Idempotency-Key: is empty") {
				t.Errorf("%q: got %d %s, want 422", key, a.status, a.text)
			}
		}
		if a := ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"key":""}`); a.status != 422 {
			t.Errorf("in the body: got %d %s, want 422", a.status, a.text)
		}
	})
	t.Run("keys that differ are refused", func(t *testing.T) {
		if a := ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"key":"a"}`, "Idempotency-Key", "b"); a.status != 422 {
			t.Errorf("got %d, want 422", a.status)
		}
	})
}

func TestCancelAndRetry(t *testing.T) {
	f := newFake()
	f.putRun(job.Run{Job: "backup", ID: "2026-01-31T02:30:00Z", State: job.Running})
	f.putRun(job.Run{Job: "backup", ID: "2026-01-30T02:30:00Z", State: job.Failed})
	srv := serve(t, f.backend())

	v := decode[api.RunView](t, ask(t, srv, "POST", "/v1/runs/backup/2026-01-31T02:30:00Z/cancel", `{"reason":"wrong disk"}`))
	if v.Cancel == nil || v.Cancel.Reason != "wrong disk" {
		t.Errorf("cancel: got %+v, want the reason", v.Cancel)
	}
	a := ask(t, srv, "POST", "/v1/runs/backup/2026-01-30T02:30:00Z/cancel", "")
	if p := a.problem(t); a.status != 409 || !strings.Contains(p.Detail, "failed may not become canceled") {
		t.Errorf("cancel of an ended run: got %d %s, want 409", a.status, a.text)
	}
	a = ask(t, srv, "POST", "/v1/runs/backup/2026-01-30T02:30:00Z/retry", "")
	if v := decode[api.RunView](t, a); a.status != 201 || v.RetryOf != "backup/2026-01-30T02:30:00Z" {
		t.Errorf("retry: got %d %s, want 201 naming the old run", a.status, a.text)
	}
	a = ask(t, srv, "POST", "/v1/runs/backup/2026-01-31T02:30:00Z/retry", "")
	if p := a.problem(t); a.status != 409 || !strings.Contains(p.Detail, "is running") {
		t.Errorf("retry of a running run: got %d %s, want 409", a.status, a.text)
	}
	for _, action := range []string{"cancel", "retry"} {
		if a := ask(t, srv, "POST", "/v1/runs/backup/x/"+action, ""); a.status != 404 {
			t.Errorf("%s of no run: got %d, want 404", action, a.status)
		}
	}
}

// Every class of a backend's error has one status, whatever was asked.
func TestErrorClasses(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		retry  string
	}{
		{fmt.Errorf("read jobs: %w", api.ErrUnavailable), 503, "2"},
		{fmt.Errorf("%w: the store was restored", api.ErrHeld), 503, "10"},
		{fmt.Errorf("read jobs: %w", context.DeadlineExceeded), 504, "2"},
		{fmt.Errorf("write job: %w", job.ErrFull), 507, "10"},
		{fmt.Errorf("write job: %w", job.ErrTooLarge), 413, ""},
		{fmt.Errorf("write job: %w", job.ErrConflict), 409, ""},
		{fmt.Errorf("read job: %w", job.ErrUnreadable), 409, ""},
		{&api.Refusal{Reason: "not today"}, 409, ""},
		{&job.TransitionError{Run: "a/b", From: job.Failed, To: job.Running}, 409, ""},
		{&api.Invalid{Errors: []api.FieldError{{Field: "retry.max", Message: "must not be negative"}}}, 422, ""},
		{errors.New("disk on fire"), 500, ""},
	} {
		f := newFake()
		f.err = tc.err
		srv := serve(t, f.backend())
		for _, request := range [][3]string{
			{"GET", "/v1/cluster"}, {"GET", "/v1/jobs"}, {"GET", "/v1/jobs/backup"}, {"GET", "/v1/runs"}, {"GET", "/v1/workers"},
			{"GET", "/v1/jobs/backup/next"}, {"GET", "/v1/jobs/backup/explain?time=2026-01-01T00:00:00Z"},
			{"PUT", "/v1/jobs/new", spec}, {"DELETE", "/v1/jobs/report"}, {"POST", "/v1/jobs/backup/runs"},
			{"POST", "/v1/runs", `{"shell":"true"}`}, {"POST", "/v1/jobs/backup/pause"}, {"POST", "/v1/resume"},
			{"GET", "/v1/runs/backup/x/logs"}, {"GET", "/v1/events"},
		} {
			a := ask(t, srv, request[0], request[1], request[2])
			if a.status != tc.status || a.header.Get("Retry-After") != tc.retry {
				t.Errorf("%v on %s %s: got %d retry %q, want %d %q: %s", tc.err, request[0], request[1],
					a.status, a.header.Get("Retry-After"), tc.status, tc.retry, a.text)
				continue
			}
			a.problem(t)
		}
	}
	t.Run("field errors are listed", func(t *testing.T) {
		a := ask(t, serve(t, newFake().backend()), "PUT", "/v1/jobs/new", `{"schedule":["nonsense"],"shell":"x"}`)
		if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Location != "body.schedule" {
			t.Errorf("got %s, want one error at body.schedule", a.text)
		}
	})
}

func TestSlowBackend(t *testing.T) {
	f := newFake()
	f.explain = func(ctx context.Context) (api.ExplainView, error) {
		<-ctx.Done()
		return api.ExplainView{}, fmt.Errorf("read run: %w", ctx.Err())
	}
	srv := serve(t, f.backend(), func(c *api.Config) { c.RequestTimeout = 30 * time.Millisecond })
	if a := ask(t, srv, "GET", "/v1/jobs/backup/explain?time=2026-01-01T00:00:00Z", ""); a.status != http.StatusGatewayTimeout {
		t.Errorf("got %d %s, want 504", a.status, a.text)
	}
}

func TestOpenAPI(t *testing.T) {
	srv := serve(t, newFake().backend())
	a := ask(t, srv, "GET", "/v1/openapi.json", "")
	if a.status != 200 {
		t.Fatalf("status: got %d, want 200", a.status)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Type any
					Enum []string
				}
				AdditionalProperties any
			}
		}
	}
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("openapi: got %q, want 3.1", doc.OpenAPI)
	}
	want := []string{
		"get /v1/cluster", "get /v1/jobs", "get /v1/jobs/{job}", "put /v1/jobs/{job}", "delete /v1/jobs/{job}",
		"get /v1/jobs/{job}/next", "get /v1/jobs/{job}/explain", "post /v1/jobs/{job}/runs", "post /v1/jobs/{job}/pause",
		"post /v1/jobs/{job}/resume", "post /v1/pause", "post /v1/resume", "get /v1/runs", "post /v1/runs",
		"get /v1/runs/{job}/{slot}", "post /v1/runs/{job}/{slot}/cancel", "post /v1/runs/{job}/{slot}/retry",
		"get /v1/runs/{job}/{slot}/logs", "get /v1/workers", "get /v1/events", "post /v1/accept-restored-store",
	}
	n := 0
	for _, methods := range doc.Paths {
		n += len(methods)
	}
	if n != len(want) {
		t.Errorf("operations: got %d, want %d: %v", n, len(want), doc.Paths)
	}
	for _, op := range want {
		method, path, _ := strings.Cut(op, " ")
		if doc.Paths[path][method].OperationID == "" {
			t.Errorf("the document lacks %s", op)
		}
	}
	for name, want := range map[string]string{"memory": "string", "pids": "integer"} {
		if got := doc.Components.Schemas["Resources"].Properties[name].Type; got != want {
			t.Errorf("%s of resources is a %v, want %s", name, got, want)
		}
	}
	// Every reference must lead somewhere.
	for _, part := range strings.Split(a.text, `"$ref":"`)[1:] {
		ref, _, _ := strings.Cut(part, `"`)
		if name := strings.TrimPrefix(ref, "#/components/schemas/"); doc.Components.Schemas[name].Properties == nil {
			t.Errorf("reference %s leads nowhere", ref)
		}
	}
	schemas := doc.Components.Schemas
	if got := schemas["Spec"].Properties["timeout"].Type; got != "string" {
		t.Errorf("a duration's type: got %v, want string", got)
	}
	if got := len(schemas["Spec"].Properties["overlap"].Enum); got != len(job.OverlapPolicies()) {
		t.Errorf("overlap policies: got %d, want %d", got, len(job.OverlapPolicies()))
	}
	if schemas["Spec"].AdditionalProperties != false || schemas["JobView"].AdditionalProperties != nil {
		t.Errorf("requests must be strict and answers open, got %v and %v", schemas["Spec"].AdditionalProperties, schemas["JobView"].AdditionalProperties)
	}
	for _, path := range []string{"/v1/jobs/{job}/runs", "/v1/runs"} {
		if r := doc.Paths[path]["post"].Responses; r["200"] == nil || r["201"] == nil {
			t.Errorf("POST %s must document 200 and 201", path)
		}
	}
	if a := ask(t, srv, "GET", "/v1/docs", ""); a.status != 404 {
		t.Errorf("the page that loads scripts from the internet: got %d, want 404", a.status)
	}
}

// Whatever a request may hold has a schema that names all of its fields: one that is dropped unseen changes what a job does.
func TestRequestsAreStrict(t *testing.T) {
	var doc map[string]any
	a := ask(t, serve(t, newFake().backend()), "GET", "/v1/openapi.json", "")
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	seen := map[string]bool{}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(name, one)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				ref = strings.TrimPrefix(ref, "#/components/schemas/")
				if !seen[ref] {
					seen[ref] = true
					walk(ref, schemas[ref])
				}
				return
			}
			if v["properties"] != nil && v["type"] == "object" && v["additionalProperties"] != false {
				t.Errorf("schema %s takes fields that nobody knows", name)
			}
			for _, one := range v {
				walk(name, one)
			}
		}
	}
	for _, methods := range doc["paths"].(map[string]any) {
		for _, op := range methods.(map[string]any) {
			walk("of a body", op.(map[string]any)["requestBody"])
		}
	}
	for _, name := range []string{"Spec", "Resources", "Notifier", "HTTP", "RunRequest"} {
		if !seen[name] {
			t.Errorf("no request may hold a %s, as far as is seen", name)
		}
	}
}
