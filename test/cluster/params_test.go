package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestParams gives parameters to runs with the command line, the API and the page. Wrong ones are refused before anything is
// stored.
func TestParams(t *testing.T) {
	t.Parallel()
	stage := "stage"
	params := map[string]job.Param{
		"month": {Pattern: "^[0-9]{4}-[0-9]{2}$", Required: true}, "deploy-env": {Enum: []string{stage, "prod"}, Default: &stage},
	}
	sink := NewSink(t)
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"report": {Params: params, Shell: `echo "$ROTA_PARAM_MONTH in $ROTA_PARAM_DEPLOY_ENV"`},
		"post": {Params: params, HTTP: &job.HTTP{
			URL: sink.URL() + `/{{ .Params.month }}`, Headers: map[string]string{"X-Env": `{{ index .Params "deploy-env" }}`},
			JSON: json.RawMessage(`{"month": "{{ .Params.month }}"}`),
		}},
		"tick": {Params: map[string]job.Param{"deploy-env": params["deploy-env"]}, Every: job.Duration(time.Second),
			Shell: `echo "in $ROTA_PARAM_DEPLOY_ENV"`},
		"behind": {After: []job.After{{Job: "report"}}, Params: map[string]job.Param{"to": {Default: &stage}}, Shell: "echo to $ROTA_PARAM_TO"},
	}})
	server := c.Replicas()[0].URL
	for _, text := range []string{
		c.must(0, "run", "report", "--param", "month=2026-01", "--wait", "--logs"),
		c.must(0, "run", "report", "--param", "month=2026-01", "--param=deploy-env=prod", "--workflow", "--key=w", "--wait", "--logs"),
	} {
		if !strings.Contains(text, "2026-01 in ") {
			t.Errorf("got %q, want the parameters in the output", text)
		}
	}
	Await(t, 20*time.Second, "the step behind it has its own default", func() bool {
		for _, r := range c.Recorder.Runs("behind") {
			return r.State == job.Succeeded && r.ParamsText() == "to=stage (default)" && strings.Contains(r.Output, "to stage")
		}
		return false
	})
	if info := c.must(0, "run-info", "report"); !strings.Contains(info, "deploy-env=prod, month=2026-01") {
		t.Errorf("run-info has no parameters:\n%s", info)
	}
	again := c.must(0, "retry", "report", "--wait", "--logs")
	if !strings.Contains(again, "2026-01 in prod") {
		t.Errorf("a retry has other parameters: %s", again)
	}
	c.must(0, "submit", "--in=1h", "--param=month=2026-02", "report")
	c.must(0, "run", "post", "--param", "month=2026-03", "--wait")
	Await(t, 20*time.Second, "a scheduled run has the default", func() bool {
		for _, r := range c.Recorder.Runs("tick") {
			if r.State == job.Succeeded {
				return r.ParamsText() == "deploy-env=stage (default)" && strings.Contains(r.Output, "in stage")
			}
		}
		return false
	})
	for slot := range c.Recorder.Runs("tick") {
		if text := c.must(0, "explain", "tick", slot[strings.IndexByte(slot, '/')+1:]); !strings.Contains(text, "Its parameters: deploy-env=stage (default).") {
			t.Errorf("explain names no parameters:\n%s", text)
		}
		break
	}
	complete := func(prefix string) string {
		out, _ := Command(t, binary, "__complete", "run", "--server="+server, "report", "--param", prefix)
		return out
	}
	if got := complete("deploy-env=p"); !strings.Contains(got, "deploy-env=prod\n") {
		t.Errorf("completion of a value: got %q", got)
	}
	if got := complete("m"); !strings.Contains(got, "month=\n") {
		t.Errorf("completion of a name: got %q", got)
	}

	known := len(c.Recorder.Runs("report"))
	for want, args := range map[string][]string{
		"parameter month must match the pattern":                   {"run", "report", "--param=month=may"},
		"parameter month is required, and is missing":              {"submit", "--in=1h", "report"},
		`parameter monht is not declared by the job, did you mean`: {"run", "report", "--param=monht=2026-01"},
		"parameter deploy-env must be one of stage, prod":          {"run", "report", "--param=month=2026-01", "--param=deploy-env=x"},
		"is not NAME=VALUE":               {"run", "report", "--param=month"},
		"gives month twice":               {"run", "report", "--param=month=1", "--param=month=2"},
		"was used for another submission": {"run", "report", "--param=month=2026-02", "--key=w"},
		"parameter x is not declared by the job: it has no parameters": {"submit", "--param=x=1", "--", "true"},
	} {
		if out, code := Command(t, binary, append([]string{args[0], "--server=" + server}, args[1:]...)...); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%v: got code %d, %q, want %q", args, code, out, want)
		}
	}
	_, _, err := c.Client.Submit(t.Context(), "report", api.RunRequest{Params: map[string]json.RawMessage{"month": []byte(`"may"`)}})
	if problem, ok := errors.AsType[*client.Error](err); !ok || problem.Status != http.StatusUnprocessableEntity {
		t.Errorf("the API answers %v, want 422", err)
	}
	form := url.Values{"job": {"report"}, "params.month": {"may"}, "params.deploy-env": {"prod"}, "payload": {""}, "in": {""}, "key": {"k"}}
	status, text := post(t, server, form)
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, `<span class="error">parameter month must match`) ||
		!strings.Contains(text, `value="may"`) || !strings.Contains(text, `<option value="prod" selected>`) {
		t.Errorf("the page answers %d:\n%s", status, text)
	}
	c.Recorder.Sync()
	if now := len(c.Recorder.Runs("report")); now != known {
		t.Errorf("refused submissions left %d runs", now-known)
	}
	form.Set("params.month", "2026-04")
	if status, text = post(t, server, form); status != http.StatusOK || !strings.Contains(text, "deploy-env=prod, month=2026-04") {
		t.Errorf("the page answers %d:\n%s", status, text)
	}
	c.Recorder.Sync()
	if now := len(c.Recorder.Runs("report")); now != known+1 {
		t.Errorf("the form made %d runs, want one", now-known)
	}

	file := files.Write(t, filepath.Join(t.TempDir(), "bad.yaml"), "jobs: {a: {every: 1h, shell: x, params: {m: {required: true}}}}\n")
	if out, code := Command(t, binary, "check", file); code != 78 || !strings.Contains(out, "bad.yaml:1:42: ") || !strings.Contains(out, "hint: ") {
		t.Errorf("check: got code %d, %s", code, out)
	}
}

// post sends the form of a new run to the page, and returns the page after it.
func post(t *testing.T, server string, form url.Values) (status int, text string) {
	t.Helper()
	resp, err := http.PostForm(server+"/do/run", form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
