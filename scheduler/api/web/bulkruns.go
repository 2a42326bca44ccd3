package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// jobPath returns the path of a job in the API.
func jobPath(name string) string { return "/v1/jobs/" + url.PathEscape(name) }

// runPath returns the path of a run in the API, from its name.
func runPath(ref string) string {
	owner, id, _ := strings.Cut(ref, "/")
	return "/v1/runs/" + url.PathEscape(owner) + "/" + url.PathEscape(id)
}

var severalRuns = selection{"run"}

// fitting returns what an action does to a run. fits says whether the action can change it, and the effect or the reason.
func fitting(fits func(v *api.RunView) (bool, string)) func(s *site, r *http.Request, ref string) (effect, error) {
	return func(s *site, r *http.Request, ref string) (effect, error) {
		v, err := get[api.RunView](s, r, runPath(ref))
		if err != nil {
			return effect{}, err
		}
		ok, note := fits(&v)
		return effect{job: v.Job, fits: ok, note: note}, nil
	}
}

func prepareCancelRuns(s *site, r *http.Request, f *form) error {
	f.Danger, f.Fields = true, []field{reasonField}
	return severalRuns.prepare("Cancel", "cancel-run", []string{
		"Runs that wait end at once. A worker ends a run that has begun: first with SIGTERM, and with SIGKILL after the kill grace.",
	}, fitting(func(v *api.RunView) (bool, string) {
		words := looks[string(v.State)].words
		switch {
		case v.State.Terminal():
			return false, "it has ended: " + words
		case v.Cancel != nil:
			return false, "its end was requested already"
		case v.State == job.Running:
			return true, "runs on worker " + v.Worker
		}
		return true, words
	}))(s, r, f)
}

func prepareRetryRuns(s *site, r *http.Request, f *form) error {
	f.Fields = []field{keyField()}
	return severalRuns.prepare("Retry", "retry-run", []string{
		"This creates a new run for each of them, with the present definition of its job. The old runs do not change.",
	}, fitting(func(v *api.RunView) (bool, string) {
		words := looks[string(v.State)].words
		if !v.State.Terminal() {
			return false, "it has not ended"
		}
		return true, words
	}))(s, r, f)
}

func cancelOne(s *site, r *http.Request, f *form, ref string) error {
	return s.giveReason(r, f, runPath(ref)+"/cancel")
}

// retryOne repeats a run. A repetition of the same form creates no second run.
func retryOne(s *site, r *http.Request, f *form, ref string) error {
	return s.ops.Do(r, http.MethodPost, runPath(ref)+"/retry", keyFor(r, f, ref), nil, nil)
}
