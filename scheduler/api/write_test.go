package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
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
		{"an old job under If-None-Match is refused", "PUT", "/v1/jobs/report", spec, []string{"If-None-Match", "*"}, 412, "job report exists already"},
		{"the right revision passes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"102"`}, 200, `"generation":2`},
		{"the right revision passes without quotes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `102`}, 200, `"generation":2`},
		{"a weakened tag passes", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `W/"102"`}, 200, `"generation":2`},
		{"a stale revision is refused", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"101"`}, 412, "not at the revision"},
		{"a missing job under If-Match * is refused", "PUT", "/v1/jobs/new", spec, []string{"If-Match", "*"}, 412, ""},
		{"no condition replaces", "PUT", "/v1/jobs/report", spec, nil, 200, `"generation":2`},
		{"a tag that is no revision", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"abc"`}, 400, "If-Match"},
		{"a condition without a value", "PUT", "/v1/jobs/report", spec, []string{"If-Match", ""}, 400, "If-Match"},
		{"another one", "PUT", "/v1/jobs/report", spec, []string{"If-None-Match", " "}, 400, "If-None-Match"},
		{"a delete with one", "DELETE", "/v1/jobs/report", "", []string{"If-Match", ""}, 400, "If-Match"},
		{"contradicting conditions", "PUT", "/v1/jobs/report", spec, []string{"If-Match", `"1"`, "If-None-Match", "*"}, 400, "contradict"},
		{"a job of a file names the file", "PUT", "/v1/jobs/backup", spec, nil, 409, "jobs.yaml"},
		{"a bad name", "PUT", "/v1/jobs/Nightly_Backup", spec, nil, 422, `\"nightly-backup\"`},
		{"the reserved name", "PUT", "/v1/jobs/adhoc", spec, nil, 422, "path.job"},
		{"an unknown field is named with what was meant", "PUT", "/v1/jobs/new", `{"shedule":["* * * * *"],"shell":"true"}`, nil, 422, `unknown key \"shedule\" in job \"new\" (did you mean schedule?)","location":"body.shedule"`},
		{"an unknown nested field", "PUT", "/v1/jobs/new", `{"shell":"true","retry":{"max":1,"bakoff":"linear"}}`, nil, 422, `"location":"body.retry.bakoff"`},
		{"a field given twice", "PUT", "/v1/jobs/new", `{"schedule":"@daily","timeout":"1h","shell":"true","timeout":"1m"}`, nil, 422, `duplicate key \"timeout\" in job \"new\" (remove one of the two)","location":"body.timeout"`},
		{"an inner field given twice", "PUT", "/v1/jobs/new", `{"payload":[{"a":1,"a":1}],"shell":"true"}`, nil, 422, `duplicate key \"a\" in payload (remove one of the two)","location":"body.payload[0].a"`},
		{"the same field of two objects", "PUT", "/v1/jobs/new", `{"payload":{"a":{"b":1},"b":{"b":1}},"shell":"true"}`, nil, 201, ``},
		{"a field in capitals", "PUT", "/v1/jobs/new", `{"Every":"5s","shell":"true"}`, nil, 422, `unknown key \"Every\" in job \"new\" (did you mean every?)","location":"body.Every"`},
		{"an interval of nothing", "PUT", "/v1/jobs/new", `{"every":"0s","shell":"true"}`, nil, 422, `every \"0s\" must be more than zero (such as 30s, 10m or 1h30m)","location":"body.every"`},
		{"no expressions", "PUT", "/v1/jobs/new", `{"schedule":[],"shell":"true"}`, nil, 422, `schedule is an empty list (remove the key or add to the list)","location":"body.schedule"`},
		{"a limit of nothing", "PUT", "/v1/jobs/new", `{"shell":"true","resources":{"pids":0}}`, nil, 422, `resources.pids 0 is not between 1 and 4194304 (write a whole number from 1 to 4194304)","location":"body.resources.pids"`},
		{"an unknown limit", "PUT", "/v1/jobs/new", `{"shell":"true","resources":{"memry":"1GiB"}}`, nil, 422, `unknown key \"memry\" in resources (did you mean memory?)","location":"body.resources.memry"`},
		{"an unknown field of a notifier", "PUT", "/v1/jobs/new", `{"shell":"true","notify":{"a":{"url":"ntfy://x/y","wen":["failure"]}}}`, nil, 422, `unknown key \"wen\" in notifier \"a\" (did you mean when?)","location":"body.notify.a.wen"`},
		{"a wrong type", "PUT", "/v1/jobs/new", `{"schedule":{"cron":"* * * * *"},"shell":"true"}`, nil, 422, `schedule must be a list, not a mapping (write a list)","location":"body.schedule"`},
		{"a wrong type of one", "PUT", "/v1/jobs/new", `{"schedule":5,"shell":"true"}`, nil, 422, `schedule must be a text, not a number (put it in quotes)","location":"body.schedule"`},
		{"a whole number with a point", "PUT", "/v1/jobs/new", `{"max_pending":2.0,"shell":"true"}`, nil, 422, `max_pending must be a whole number in digits, without a point or an exponent (write a whole number from 1 to`},
		{"a whole number with an exponent", "PUT", "/v1/jobs/new", `{"priority":1e1,"shell":"true"}`, nil, 422, `in digits, without a point or an exponent (write a whole number from -1000 to 1000)","location":"body.priority"`},
		{"one that is no time", "PUT", "/v1/jobs/new", `{"at":"tomorrow","shell":"true"}`, nil, 422, `at \"tomorrow\" is not an RFC 3339 time (such as 2026-12-24T18:00:00Z)","location":"body.at"`},
		{"a wrong word", "PUT", "/v1/jobs/new", `{"overlap":"maybe","shell":"true"}`, nil, 422, `overlap \"maybe\" is not skip, allow, replace or queue (write skip, allow, replace or queue)","location":"body.overlap"`},
		{"a duration without a unit", "PUT", "/v1/jobs/new", `{"timeout":"30","shell":"true"}`, nil, 422, `timeout \"30\" is not a duration (such as 30s, 10m or 1h30m)","location":"body.timeout"`},
		{"a duration as a number", "PUT", "/v1/jobs/new", `{"timeout":30,"shell":"true"}`, nil, 422, "body.timeout"},
		{"a spec that makes no sense", "PUT", "/v1/jobs/new", `{"schedule":["nonsense"],"shell":"true"}`, nil, 422, `schedule \"nonsense\": has 1 fields, 5 or 6 are allowed`},
		{"no JSON", "PUT", "/v1/jobs/new", `{`, nil, 400, "body"},
		{"no body", "PUT", "/v1/jobs/new", ``, nil, 400, "body is required"},
		{"a form", "PUT", "/v1/jobs/new", `a=b`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"no text", "PUT", "/v1/jobs/new", "{\"shell\":\"\xff\"}", nil, 400, "not UTF-8"},
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

func TestProblemsDoNotRepeatBodies(t *testing.T) {
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

func TestCallerIsRecorded(t *testing.T) {
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
	if a := ask(t, srv, "POST", "/v1/pause", `{"reasn":"x"}`); a.status != 422 || !strings.Contains(a.text, `mean \"reason\"?`) {
		t.Errorf("unknown field: got %d %s, want 422 with a suggestion", a.status, a.text)
	}
	if a := ask(t, srv, "POST", "/v1/pause", `{"slot":"x"}`); a.status != 422 || strings.Contains(a.text, "did you mean") {
		t.Errorf("a field of other bodies: got %d %s, want 422 without a suggestion", a.status, a.text)
	}
}

// Each class of errors of a backend has the same status in all operations.
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
		if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Location != "body.schedule[0]" {
			t.Errorf("got %s, want one error at body.schedule[0]", a.text)
		}
	})
}

// The log contains the errors that no client can correct, and no other errors.
func TestOnlyFailuresAreLogged(t *testing.T) {
	for _, tc := range []struct {
		err    error
		logged bool
	}{{errors.New("disk on fire"), true}, {job.ErrConflict, false}, {api.ErrUnavailable, false}} {
		f := newFake()
		f.err = tc.err
		var log strings.Builder
		srv := httptest.NewServer(api.New(api.DefaultConfig(), f.backend(), hclog.New(&hclog.LoggerOptions{Output: &log})).Handler())
		ask(t, srv, "PUT", "/v1/jobs/new", spec)
		srv.Close()
		if got := strings.Contains(log.String(), "request failed"); got != tc.logged {
			t.Errorf("%v: got log %q, want it logged: %v", tc.err, log.String(), tc.logged)
		}
	}
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
