package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// mostOfAPage is how many bytes an answer may have: a page, and the last item of it.
const mostOfAPage = 5 << 20

func TestPagesOfJobsAreBoundedByBytes(t *testing.T) {
	f := newFake()
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("large-%02d", i)
		want = append(want, name)
		f.putJob(job.Job{Name: name, Generation: 1, Stored: 300_000, Spec: &job.Spec{Shell: strings.Repeat("x", 300_000), Labels: map[string]string{"large": "yes"}}})
	}
	srv := serve(t, f.backend())
	a := ask(t, srv, "GET", "/v1/jobs?selector=large%3Dyes", "")
	page := decode[api.JobList](t, a)
	if len(a.text) > mostOfAPage || len(page.Jobs) < 10 || page.Continue == "" {
		t.Errorf("the first page has %d jobs in %d bytes, and continues with %q", len(page.Jobs), len(a.text), page.Continue)
	}
	c, err := client.New(client.Config{Servers: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	jobs, err := c.SelectJobs(t.Context(), "large=yes")
	var got []string
	for _, v := range jobs {
		got = append(got, v.Name)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the client has %v, %v, want %v", got, err, want)
	}
}

func TestPagesOfRunsAreBoundedByBytes(t *testing.T) {
	f := newFake()
	large := strings.Repeat("x", 240_000)
	f.change(func(f *fake) {
		for i := range 60 {
			r := job.Run{Job: "backup", ID: fmt.Sprintf("%02d", i), State: job.Pending, Payload: []byte(`"` + large + `"`)}
			switch i % 3 {
			case 1:
				r.Payload, r.Outputs = nil, map[string]string{"a": large}
			case 2:
				r.Payload, r.Spec = nil, &job.Spec{Shell: large}
			}
			f.putRun(r)
		}
	})
	srv := serve(t, f.backend())
	if a := ask(t, srv, "GET", "/v1/runs?job=backup&limit=1000", ""); len(a.text) > mostOfAPage {
		t.Errorf("the first page has %d bytes", len(a.text))
	}
	c, err := client.New(client.Config{Servers: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[string]int{}
	for r, err := range c.AllRuns(t.Context(), client.RunFilter{Job: "backup", Limit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[r.ID]++
	}
	for i := range 60 {
		if n := seen[fmt.Sprintf("%02d", i)]; n != 1 {
			t.Errorf("run %02d stands in the pages %d times", i, n)
		}
	}
}
