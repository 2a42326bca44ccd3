package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// asked are the operations of a client with all rights, who decides about no run. It records the requests of reads.
type asked struct {
	writes
	targets []string
	origin  string
}

func (*asked) Decides(*http.Request, []string) bool { return false }

func (o *asked) Do(_ *http.Request, _, target string, _ http.Header, _, out any) error {
	o.targets = append(o.targets, target)
	switch v := out.(type) {
	case *api.RunView:
		*v = api.NewRunView(job.Run{
			Job: "a", ID: "1", State: job.Pending, Reason: "waits", Approval: &job.Approval{By: []string{"sre"}, Asked: noon},
		})
	case *api.JobView:
		v.Job = job.Job{Name: "a", Spec: new(job.Spec), Origin: job.Origin{Kind: o.origin, Source: "jobs.yaml"}}
	}
	return nil
}

// source returns the source of a page.
func source(t *testing.T, ops api.Operations, path string) string {
	t.Helper()
	w := visit(t, New(ops, Config{Definition: func(string, *job.Spec) (string, error) { return "", nil }}), path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: got %d, %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// The page offers no action that is refused in any case.
func TestThePageOffersOnlyWhatIsPossible(t *testing.T) {
	if got := source(t, &asked{origin: job.OriginFile}, "/jobs/a"); strings.Contains(got, "/do/edit") || strings.Contains(got, "/do/delete") {
		t.Error("a job of a file can be edited or deleted here")
	}
	if got := source(t, &asked{origin: job.OriginAPI}, "/jobs/a"); !strings.Contains(got, "/do/edit") || !strings.Contains(got, "/do/delete") {
		t.Error("a job of the API cannot be edited or deleted")
	}
	if got := source(t, new(asked), "/runs/a/1"); strings.Contains(got, "/do/approve") || strings.Contains(got, "/do/reject") {
		t.Error("somebody whom the job does not name is asked to decide")
	}
	got := source(t, new(asked), "/do/approve?job=a&run=1")
	if !strings.Contains(got, "You may not decide about this run.") || strings.Contains(got, "<button class=\"primary\">") ||
		strings.Contains(got, "The run starts") {
		t.Errorf("the form of somebody whom the job does not name: %s", got)
	}
}

// Addresses of lists accept times as the page writes them.
func TestListsAcceptTimesOfThePage(t *testing.T) {
	for path, want := range map[string]string{
		"/runs?since=2026-01-31+02:30+UTC":   "since=2026-01-31T02%3A30%3A00Z",
		"/runs?since=7d":                     "since=7d",
		"/audit?since=2026-01-31+02:30:05":   "since=2026-01-31T02%3A30%3A05Z",
		"/events?since=2026-01-31+02:30+UTC": "since=2026-01-31T02%3A30%3A00Z",
		"/events?at=2026-01-31+02:30+UTC":    "at=2026-01-31T02%3A30%3A00Z",
	} {
		ops := new(asked)
		source(t, ops, path)
		if got := strings.Join(ops.targets, " "); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
