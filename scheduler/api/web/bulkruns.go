package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// runPath returns the path of a run in the API, from its name.
func runPath(ref string) string {
	owner, id, _ := strings.Cut(ref, "/")
	return "/v1/runs/" + url.PathEscape(owner) + "/" + url.PathEscape(id)
}

// prepareRuns returns the preparation of an action on the selected runs. It lists them with the effect on each. fits says whether
// the action can change a run, and the effect; if it cannot, the reason.
func prepareRuns(
	verb, operation string, facts []string, fits func(v *api.RunView) (bool, string),
) func(*site, *http.Request, *form) error {
	return func(s *site, r *http.Request, f *form) error {
		refs := slices.Compact(slices.Sorted(slices.Values(r.Form["runs"])))
		f.Title, f.Verb, f.Back, f.Facts = verb+" runs", verb, "/runs", facts
		if len(refs) > bulkJobs {
			f.Blocked, f.Error = true, fmt.Sprintf("At most %d runs can be selected.", bulkJobs)
			return nil
		}
		denied := 0
		for _, ref := range refs {
			v, err := get[api.RunView](s, r, runPath(ref))
			if problem, refused := errors.AsType[*api.Problem](err); refused {
				f.Items = append(f.Items, formItem{Name: ref, Note: problem.Detail})
				continue
			} else if err != nil {
				return err
			}
			ok, note := fits(&v)
			switch {
			case !s.ops.May(r, operation, v.Job):
				denied++
				note = "left out: your role does not include this action for it"
			case ok:
				f.Runs = append(f.Runs, ref)
			default:
				note = "left out: " + note
			}
			f.Items = append(f.Items, formItem{Name: ref, Note: note})
		}
		switch n := len(f.Runs); {
		case n > 0:
			f.Title = verb + " " + plural(n, "run")
			f.Verb = f.Title
		case denied > 0:
			f.Blocked, f.Error = true, "Your role does not include this action for the selected runs."
		case len(refs) > 0:
			f.Blocked, f.Error = true, "The action changes none of the selected runs."
		default:
			f.Blocked, f.Error = true, "No run is selected. Select runs in the list first."
		}
		return nil
	}
}

func prepareCancelRuns(s *site, r *http.Request, f *form) error {
	f.Danger, f.Fields = true, []field{reasonField}
	return prepareRuns("Cancel", "cancel-run", []string{
		"Runs that wait end at once. A worker ends a run that has begun: first with SIGTERM, and with SIGKILL after the kill grace.",
	}, func(v *api.RunView) (bool, string) {
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
	})(s, r, f)
}

func prepareRetryRuns(s *site, r *http.Request, f *form) error {
	f.Fields = []field{{Name: "key", Kind: "hidden", Value: newKey()}}
	return prepareRuns("Retry", "retry-run", []string{
		"This creates a new run for each of them, with the present definition of its job. The old runs do not change.",
	}, func(v *api.RunView) (bool, string) {
		words := looks[string(v.State)].words
		if !v.State.Terminal() {
			return false, "it has not ended"
		}
		return true, words
	})(s, r, f)
}

// performRuns returns the action that performs one operation on each selected run.
func performRuns(
	done string, do func(s *site, r *http.Request, f *form, ref string) error,
) func(*site, *http.Request, *form) (string, error) {
	return func(s *site, r *http.Request, f *form) (string, error) {
		return f.each(f.Runs, "run", "/runs?done="+done, func(ref string) error { return do(s, r, f, ref) })
	}
}

func cancelOne(s *site, r *http.Request, f *form, ref string) error {
	return s.ops.Do(r, http.MethodPost, runPath(ref)+"/cancel", nil, api.ReasonRequest{Reason: f.value("reason")}, nil)
}

// retryOne repeats a run. A repetition of the same form creates no second run.
func retryOne(s *site, r *http.Request, f *form, ref string) error {
	return s.ops.Do(r, http.MethodPost, runPath(ref)+"/retry", http.Header{"Idempotency-Key": {keyFor(r, f, ref)}}, nil, nil)
}
