package httpx_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOutputs reads outputs from responses, and gives outputs of parents to requests.
func TestOutputs(t *testing.T) {
	for _, c := range []struct {
		name, response string
		pointers       map[string]string
		state          job.State
		reason         string
		want           map[string]string
	}{
		{"values", `{"data": {"total": 12.50, "a/b": ["x", {"y": null}]}}`, map[string]string{"total": "/data/total", "x": "/data/a~1b/0", "o": "/data/a~1b/1"},
			job.Succeeded, "", map[string]string{"total": "12.50", "x": "x", "o": `{"y":null}`}},
		{"missing", `{"data": {}}`, map[string]string{"total": "/data/total"}, job.Failed, "output total: the response has nothing at /data/total", nil},
		{"out of the list", `[1]`, map[string]string{"a": "/01"}, job.Failed, "nothing at /01", nil},
		{"in a list in a list", `[[1, 2], [3, {"a": 4}]]`, map[string]string{"a": "/1/1/a", "b": "/1", "c": "/0/1"}, job.Succeeded, "",
			map[string]string{"a": "4", "b": `[3,{"a":4}]`, "c": "2"}},
		{"all of it", ` "x" `, map[string]string{"a": ""}, job.Succeeded, "", map[string]string{"a": "x"}},
		{"behind much else", `{"rows": [` + strings.Repeat(`{"a": ["x", 1]},`, 200_000) + `{}], "total": 7}`, map[string]string{"total": "/total"},
			job.Succeeded, "", map[string]string{"total": "7"}},
		{"within a text", `{"a": "b"}`, map[string]string{"a": "/a/b"}, job.Failed, "output a: the response has nothing at /a/b", nil},
		{"not to its end", `{"a": "b"`, map[string]string{"a": "/a"}, job.Failed, "outputs: the response is not JSON: unexpected EOF", nil},
		{"a pointer with a bare tilde", `{"x~y": 2}`, map[string]string{"a": "/x~y", "b": "/x~0y"}, job.Succeeded, "",
			map[string]string{"a": "2", "b": "2"}},
		{"twice", `{"a": {"b": 1}, "a": {"c": 2}}`, map[string]string{"a": "/a/b"}, job.Failed, "output a: the response has nothing at /a/b", nil},
		{"a long value", `{"a": "` + strings.Repeat("x", 2<<20) + `", "t": 1}`, map[string]string{"t": "/t"}, job.Failed,
			"outputs: a value of the response is longer than 1048576 bytes", nil},
		{"a long wanted value", `{"a": [` + strings.Repeat("0,", 1<<20) + `0]}`, map[string]string{"a": "/a"}, job.Failed,
			"outputs: a value of the response is longer than 1048576 bytes", nil},
		{"no JSON", `<html>`, map[string]string{"total": "/data/total"}, job.Failed, "outputs: the response is not JSON", nil},
		{"a zero byte", `{"a": "b\u0000c"}`, map[string]string{"a": "/a"}, job.Failed, "output a must be a text in UTF-8 without zero bytes", nil},
		{"too large", `{"a": "` + strings.Repeat("x", 40000) + `"}`, map[string]string{"a": "/a"}, job.Failed, "larger than 32 KiB", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, got := target(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.response) })
			e := httpx.New(httpx.Config{}, time.Now)
			defer e.Close()
			o := e.Execute(t.Context(), executor.Request{
				Run: job.Run{Job: "charge", ID: "1", Slot: at}, Output: new(bytes.Buffer),
				Spec:   job.Spec{HTTP: &job.HTTP{URL: url, Method: "POST", Body: `{{ output "load" "rows" }}`}, Outputs: c.pointers},
				Inputs: map[string]map[string]string{"load": {"rows": "7"}},
			})
			if o.State != c.state || !strings.Contains(o.Reason, c.reason) || o.Retry || !cmp.Equal(o.Outputs, c.want) {
				t.Errorf("got %s %q (retry %v) with %v, want %s %q with %v", o.State, o.Reason, o.Retry, o.Outputs, c.state, c.reason, c.want)
			}
			if r := got(); len(r) != 1 || r[0].Body != "7" {
				t.Errorf("requests: %+v, want one with the output of the parent", r)
			}
		})
	}
}

func TestAnUnknownOutputFailsTheAttempt(t *testing.T) {
	e := httpx.New(httpx.Config{}, time.Now)
	defer e.Close()
	o := e.Execute(t.Context(), executor.Request{
		Run: job.Run{Job: "charge", ID: "1", Slot: at}, Output: new(bytes.Buffer),
		Spec: job.Spec{HTTP: &job.HTTP{URL: `http://127.0.0.1:1/{{ output "load" "rows" }}`}},
	})
	if o.State != job.Failed || o.Retry || !strings.Contains(o.Reason, "the run of parent load has no output rows") {
		t.Errorf("got %s %q, retry %v", o.State, o.Reason, o.Retry)
	}
}
