package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// ofTeam are the operations of a client that may change only jobs of its team. It records the changes.
type ofTeam struct {
	api.Operations
	changed []string
}

func (o *ofTeam) Do(_ *http.Request, method, target string, _ http.Header, _, out any) error {
	if method != http.MethodGet {
		o.changed = append(o.changed, target)
		return nil
	}
	if v, ok := out.(*api.JobView); ok {
		name := strings.TrimPrefix(target, "/v1/jobs/")
		if name == "team-gone" {
			return &api.Problem{Status: http.StatusNotFound, Detail: "There is no job team-gone."}
		}
		*v = api.JobView{Job: job.Job{Name: name, Spec: &job.Spec{}}}
	}
	return nil
}

func (*ofTeam) May(_ *http.Request, operation, name string) bool {
	return strings.HasPrefix(name, "team-") && operation == "pause-job"
}

func (*ofTeam) Cluster(*http.Request) (api.ClusterView, error) { return api.ClusterView{}, nil }
func (*ofTeam) Caller(*http.Request) string                    { return "alice" }
func (*ofTeam) Revision() int64                                { return 1 }
func (*ofTeam) Now() time.Time                                 { return noon }

// TestSelectedJobsOfOthersAreLeftOut proves that a bulk action changes only jobs that exist and for which the client has the right.
func TestSelectedJobsOfOthersAreLeftOut(t *testing.T) {
	for _, tc := range []struct {
		jobs, want []string
		status     int
		says       string
	}{
		{[]string{"team-a", "other", "team-b"}, []string{"/v1/jobs/team-a/pause", "/v1/jobs/team-b/pause"}, http.StatusSeeOther, ""},
		{[]string{"other"}, nil, http.StatusUnprocessableEntity, "Your role does not include this action for the selected jobs."},
		{[]string{"team-gone"}, nil, http.StatusUnprocessableEntity, "The action changes none of the selected jobs."},
		{[]string{"team-gone", "team-a"}, []string{"/v1/jobs/team-a/pause"}, http.StatusSeeOther, ""},
		{nil, nil, http.StatusUnprocessableEntity, "No job is selected."},
	} {
		ops := &ofTeam{}
		page := New(ops, Config{})
		form := url.Values{"jobs": tc.jobs}
		ask := visit(t, page, "/do/pause-jobs?"+form.Encode())
		if slices.Contains(tc.jobs, "other") != strings.Contains(ask.Body.String(), "your role does not include this action for it") {
			t.Errorf("%v: the confirmation does not say which jobs are left out", tc.jobs)
		}
		if len(ops.changed) > 0 {
			t.Errorf("%v: the question alone changed %v", tc.jobs, ops.changed)
		}
		w := send(t, page, "/do/pause-jobs", form)
		if w.Code != tc.status || !slices.Equal(ops.changed, tc.want) || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%v: got %d and changes %v, want %d and %v", tc.jobs, w.Code, ops.changed, tc.status, tc.want)
		}
	}
}

// reader may change nothing.
type reader struct{ ofTeam }

func (*reader) May(*http.Request, string, string) bool { return false }

func (*reader) Do(_ *http.Request, _, _ string, _ http.Header, _, out any) error {
	switch v := out.(type) {
	case *api.JobPage:
		v.Jobs = []api.JobView{{Job: job.Job{Name: "a", Spec: &job.Spec{}}}}
	case *api.RunList:
		v.Runs = []api.RunView{api.NewRunView(job.Run{Job: "a", ID: "1", State: job.Failed})}
	}
	return nil
}

// A list offers the selection of rows only to people who can do something with it.
func TestAReaderSelectsNothing(t *testing.T) {
	page := New(new(reader), Config{})
	for _, path := range []string{"/jobs", "/runs"} {
		w := visit(t, page, path)
		text := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(text, ">a</a>") || strings.Contains(text, "bulk") || strings.Contains(text, "pick") {
			t.Errorf("%s: got %d, want the row without a selection: %s", path, w.Code, text)
		}
	}
}
