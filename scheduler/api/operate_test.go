package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

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
			ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"payload":{"a":1},"key":"k1"}`, "Idempotency-Key", `"k1"`),
		} {
			if v := decode[api.RunView](t, again); again.status != 200 || v.Ref != want.Ref {
				t.Errorf("got %d %s, want 200 and %s", again.status, again.text, want.Ref)
			}
		}
		for _, body := range []string{`{"payload":{"a":2},"key":"k1"}`, `{"key":"k1"}`} {
			other := ask(t, srv, "POST", "/v1/jobs/backup/runs", body)
			if other.status != 422 || !strings.Contains(other.text, want.Ref) {
				t.Errorf("%s: got %d %s, want 422 naming %s", body, other.status, other.text, want.Ref)
			}
		}
	})
	t.Run("the key of a workflow is answered also if its first job was deleted", func(t *testing.T) {
		f.putRun(job.Run{Job: "gone", ID: "k-w1", Key: "w1", State: job.Succeeded})
		if a := ask(t, srv, "POST", "/v1/jobs/gone/runs", `{"workflow":true,"key":"w1"}`); a.status != 200 {
			t.Errorf("got %d %s, want 200", a.status, a.text)
		}
		for _, body := range []string{`{"workflow":true,"key":"w2"}`, `{"workflow":true}`} {
			if a := ask(t, srv, "POST", "/v1/jobs/gone/runs", body); a.status != 404 {
				t.Errorf("%s: got %d %s, want 404", body, a.status, a.text)
			}
		}
	})
	t.Run("the same key with other parameters is a conflict", func(t *testing.T) {
		first := decode[api.RunView](t, ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"params":{"n":1,"dry":true,"env":"a"},"key":"p1"}`))
		if diff := cmp.Diff(map[string]string{"n": "1", "dry": "true", "env": "a"}, first.Params); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for body, want := range map[string]int{
			`{"params":{"n":"1","dry":"true","env":"a"},"key":"p1"}`: 200, `{"params":{"n":2,"dry":true,"env":"a"},"key":"p1"}`: 422,
			`{"key":"p1"}`: 422, `{"params":{"n":[1]},"key":"p2"}`: 422, `{"params":{"n":null}}`: 422, `{"params":{"n":{}}}`: 422,
		} {
			if a := ask(t, srv, "POST", "/v1/jobs/backup/runs", body); a.status != want {
				t.Errorf("%s: got %d %s, want %d", body, a.status, a.text, want)
			}
		}
	})
	t.Run("the key of a repetition is a conflict", func(t *testing.T) {
		f.putRun(job.Run{Job: "backup", ID: "k-r1", Key: "r1", Kind: job.KindRetry, RetryOf: "backup/old", State: job.Succeeded})
		if a := ask(t, srv, "POST", "/v1/jobs/backup/runs", `{"key":"r1"}`); a.status != 422 || !strings.Contains(a.text, "backup/k-r1") {
			t.Errorf("got %d %s, want 422 that names the run", a.status, a.text)
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
		for _, part := range []string{`"timeout":"6s"`, `"timeout":"5s","workers":{"zone":"a"}`} {
			body := `{"command":["echo","hi"],"env":{"A":"b"},"key":"x",` + part + `}`
			if other := ask(t, srv, "POST", "/v1/runs", body); other.status != 422 {
				t.Errorf("%s: got %d %s, want 422", part, other.status, other.text)
			}
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
		{"an at that no record can hold", "/v1/jobs/backup/runs", `{"at":"9999-12-31T23:59:59-01:00"}`, 422, "body.at"},
		{"an at before the first year", "/v1/jobs/backup/runs", `{"at":"0000-01-01T00:00:00+01:00"}`, 422, "body.at"},
		{"a backfill from before the first year", "/v1/jobs/backup/backfill",
			`{"from":"0000-01-01T00:00:00+01:00","to":"2026-01-01T00:00:00Z"}`, 422, "body.from"},
		{"a backfill to before the first year", "/v1/jobs/backup/backfill",
			`{"from":"2026-01-01T00:00:00Z","to":"0000-01-01T00:00:00+01:00"}`, 422, "body.to: lies outside"},
		{"a whole number with a point", "/v1/jobs/backup/backfill",
			`{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","concurrency":2.0}`, 422,
			`"write a whole number in digits, without a point or an exponent","location":"body.concurrency"`},
		{"a whole number with an exponent", "/v1/jobs/backup/backfill",
			`{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","concurrency":1e1}`, 422, `"location":"body.concurrency"`},
		{"a number that no JSON number holds", "/v1/jobs/backup/runs", `{"payload":{"a":1e400}}`, 400,
			`"a number is larger than JSON numbers may be here: write it as a text","location":"body"`},
		{"a bad in", "/v1/jobs/backup/runs", `{"in":"soon"}`, 422, "body.in"},
		{"a negative in", "/v1/jobs/backup/runs", `{"in":"-1h"}`, 422, "body.in"},
		{"an unknown field", "/v1/jobs/backup/runs", `{"paylod":1}`, 422, `did you mean \"payload\"?`},
		{"a long key", "/v1/jobs/backup/runs", `{"key":"` + strings.Repeat("k", 256) + `"}`, 422, "at most 255"},
		{"a key with a control character", "/v1/jobs/backup/runs", `{"key":"a\nb"}`, 422, "control character"},
		{"a key with bytes that are no text", "/v1/jobs/backup/runs", "{\"key\":\"a\xff\"}", 400, "not UTF-8"},
		{"a key with half a character", "/v1/jobs/backup/runs", `{"key":"a\ud800"}`, 422, "not UTF-8"},
		{"a payload that is no text", "/v1/jobs/backup/runs", "{\"payload\":\"\xfe\"}", 400, "not UTF-8"},
		{"a large command", "/v1/runs", `{"shell":"` + strings.Repeat("x", api.MaxPayload) + `"}`, 413, "bytes"},
		{"a large payload", "/v1/jobs/backup/runs", `{"payload":"` + strings.Repeat("x", api.MaxPayload) + `"}`, 413, "payload"},
		{"the job of the jobless", "/v1/jobs/adhoc/runs", `{}`, 422, "/v1/runs"},
		{"an ad hoc run of nothing", "/v1/runs", `{}`, 422, "either command or shell"},
		{"an ad hoc run with steps", "/v1/runs", `{"command":["a"],"workflow":true}`, 422, `"location":"body.workflow"`},
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
