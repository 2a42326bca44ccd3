package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// labeled returns a cluster with the jobs a of team a, b of team b, and none without labels, each with a run.
func labeled() *fake {
	f := newFake()
	for name, labels := range map[string]map[string]string{"a": {"team": "a"}, "b": {"team": "b"}, "none": nil} {
		f.putJob(job.Job{Name: name, Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Spec: &job.Spec{
			HTTP: &job.HTTP{URL: "http://x/"}, Labels: labels,
		}})
		f.putRun(job.Run{Job: name, ID: "r", State: job.Failed})
	}
	return f
}

// backendWithLabels returns a backend that knows the labels of its jobs.
func backendWithLabels(f *fake) api.Backend {
	b := f.backend()
	b.Labels = func(name string) map[string]string {
		v, err := f.Job(context.Background(), name)
		if err != nil {
			return nil
		}
		return v.Spec.Labels
	}
	return b
}

func TestListsAreSelectedByLabels(t *testing.T) {
	srv := serve(t, backendWithLabels(labeled()))
	for selector, want := range map[string]string{
		"team=a": "a", "team!=a": "b none", "team in (a,b)": "a b", "!team": "none", "team": "a b", "team=c": "",
	} {
		jobs := decode[api.JobList](t, ask(t, srv, "GET", "/v1/jobs?selector="+url.QueryEscape(selector), ""))
		runs := decode[api.RunList](t, ask(t, srv, "GET", "/v1/runs?selector="+url.QueryEscape(selector), ""))
		var names, of []string
		for _, v := range jobs.Jobs {
			if v.Name != "backup" && v.Name != "report" {
				names = append(names, v.Name)
			}
		}
		for _, r := range runs.Runs {
			if r.Job != "backup" {
				of = append(of, r.Job)
			}
		}
		if strings.Join(names, " ") != want || strings.Join(of, " ") != want {
			t.Errorf("%s: got jobs %v and runs of %v, want %s", selector, names, of, want)
		}
	}
	for _, path := range []string{"/v1/jobs?selector=a+b", "/v1/runs?selector=%3D"} {
		if a := ask(t, srv, "GET", path, ""); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "query.selector") {
			t.Errorf("%s: got %d %s", path, a.status, a.text)
		}
	}
}

func TestARoleIsLimitedToLabels(t *testing.T) {
	b := &bearer{}
	token := b.give(t, "")
	b.File.Bindings = []auth.Binding{{Principal: "p-", Role: auth.Author, Labels: map[string]string{"team": "a"}}}
	const http = `"every":"1h","http":{"url":"http://x/"}`
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/jobs/a", "", 200},
		{"GET", "/v1/jobs/b", "", 404},
		{"GET", "/v1/jobs/none", "", 404},
		{"GET", "/v1/runs/a/r", "", 200},
		{"GET", "/v1/runs/b/r", "", 404},
		{"POST", "/v1/jobs/a/pause", "", 200},
		{"POST", "/v1/jobs/b/pause", "", 404},
		{"PUT", "/v1/jobs/a", `{` + http + `,"labels":{"team":"a","tier":7}}`, 200},
		{"PUT", "/v1/jobs/a", `{` + http + `,"labels":{"team":"b"}}`, 404},
		{"PUT", "/v1/jobs/a", `{` + http + `}`, 404},
		{"PUT", "/v1/jobs/b", `{` + http + `,"labels":{"team":"a"}}`, 404},
		{"PUT", "/v1/jobs/new", `{` + http + `,"labels":{"team":"a"}}`, 201},
		{"PUT", "/v1/jobs/new", `{` + http + `,"labels":{"team":"b"}}`, 404},
		{"PUT", "/v1/jobs/new", `{` + http + `}`, 404},
		{"DELETE", "/v1/jobs/a", "", 204},
		{"DELETE", "/v1/jobs/b", "", 404},
	} {
		srv := serve(t, backendWithLabels(labeled()), func(c *api.Config) { c.Auth = b })
		a := ask(t, srv, tt.method, tt.path, tt.body, "Authorization", "Bearer "+token)
		if a.status != tt.want {
			t.Errorf("%s %s %s: got %d %s, want %d", tt.method, tt.path, tt.body, a.status, a.text, tt.want)
		}
		if named := strings.Contains(a.text, "no role of p- covers this definition of job"); tt.method == "PUT" && named != (a.status == 404) {
			t.Errorf("%s %s %s: got %s, want that no role covers the definition, whether the job exists or not", tt.method, tt.path, tt.body, a.text)
		}
		srv.Close()
	}
	srv := serve(t, backendWithLabels(labeled()), func(c *api.Config) { c.Auth = b })
	for path, others := range map[string]string{"/v1/jobs": `"name":"b"`, "/v1/runs": `"job":"b"`} {
		a := ask(t, srv, "GET", path, "", "Authorization", "Bearer "+token)
		if a.status != 200 || strings.Contains(a.text, others) || !strings.Contains(a.text, strings.Replace(others, `"b"`, `"a"`, 1)) {
			t.Errorf("%s: got %d %s", path, a.status, a.text)
		}
	}
}
