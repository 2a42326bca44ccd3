package api_test

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestFindJobsRefusesAnUnknownState(t *testing.T) {
	srv := serve(t, newFake().backend())
	a := ask(t, srv, "GET", "/v1/find/jobs?state=broken", "")
	if p := a.problem(t); a.status != 422 || !strings.Contains(p.Detail, "failing, running") {
		t.Errorf("got %d %q, want 422 and the list of states", a.status, p.Detail)
	}
}

func TestLiveSaysWhichJobsHaveChanged(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	res, _ := open(t, srv.URL+"/v1/live?after=101")
	lines := bufio.NewScanner(res.Body)
	await := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	await(`"node":"q1"`)
	await(`"jobs":["report"]`) // the change after revision 101
	f.mu.Lock()
	f.putRun(job.Run{Job: "backup", ID: "r1", State: job.Running})
	f.mu.Unlock()
	await(`"jobs":["backup"]`)
}

// TestPageAnswersUnknownPathsOnly proves that the page hides no path of the API, and that it acts by operations.
func TestPageAnswersUnknownPathsOnly(t *testing.T) {
	var ops api.Operations
	srv := serve(t, newFake().backend(), func(c *api.Config) {
		c.Page = func(o api.Operations) http.Handler {
			ops = o
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var list api.JobList
				if err := ops.Do(r, http.MethodGet, "/v1/jobs", nil, nil, &list); err != nil {
					t.Error(err)
				}
				err := ops.Do(r, http.MethodGet, "/v1/jobs/none", nil, nil, nil)
				var problem *api.Problem
				if !errors.As(err, &problem) || problem.Status != 404 {
					t.Errorf("read a job that does not exist: got %v, want a problem with status 404", err)
				}
				_, _ = w.Write([]byte(list.Jobs[0].Name))
			})
		}
	})
	for path, want := range map[string]string{"/": "backup", "/anything": "backup", "/v1/none": "nothing here", "/livez": "ok"} {
		if a := ask(t, srv, "GET", path, ""); !strings.Contains(a.text, want) {
			t.Errorf("%s: got %q, want %q", path, a.text, want)
		}
	}
	if a := ask(t, srv, "POST", "/livez", ""); a.status != 405 {
		t.Errorf("POST /livez: got %d, want 405", a.status)
	}
}
