package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// bulkJobs is how many jobs one action changes at most. A page of jobs has fewer.
const bulkJobs = 200

// prepareJobs returns the preparation of an action on the selected jobs. It lists them, with what the action does to each. A job
// for which the client lacks the right is left out.
func prepareJobs(verb, operation string, facts []string, note func(v *api.JobView) string) func(*site, *http.Request, *form) error {
	return func(s *site, r *http.Request, f *form) error {
		names := slices.Compact(slices.Sorted(slices.Values(r.Form["jobs"])))
		f.Title, f.Verb, f.Back, f.Facts = verb+" jobs", verb, "/jobs", facts
		if len(names) > bulkJobs {
			f.Blocked, f.Error = true, fmt.Sprintf("At most %d jobs can be selected.", bulkJobs)
			return nil
		}
		denied := 0
		for _, name := range names {
			v, err := get[api.JobView](s, r, "/v1/jobs/"+url.PathEscape(name))
			problem, refused := errors.AsType[*api.Problem](err)
			switch {
			case refused:
				f.Items = append(f.Items, formItem{Name: name, Note: problem.Detail})
			case err != nil:
				return err
			case !s.ops.May(r, operation, name):
				denied++
				f.Items = append(f.Items, formItem{Name: name, Note: "left out: your role does not include this action for it"})
			default:
				f.Jobs = append(f.Jobs, name)
				f.Items = append(f.Items, formItem{Name: name, Note: note(&v)})
			}
		}
		switch n := len(f.Jobs); {
		case n > 0:
			f.Title = verb + " " + plural(n, "job")
			f.Verb = f.Title
		case denied > 0:
			f.Blocked, f.Error = true, "Your role does not include this action for the selected jobs."
		default:
			f.Blocked, f.Error = true, "No job is selected. Select jobs in the list first."
		}
		return nil
	}
}

func pauseNote(v *api.JobView) string {
	switch {
	case v.Paused != nil:
		return "is paused already"
	case v.Next != nil:
		return "the first slot that is skipped: " + v.Next.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return "has no slot to come"
}

func resumeNote(v *api.JobView) string {
	switch {
	case v.Paused == nil:
		return "is not paused"
	case v.Next != nil:
		return "the next slot: " + v.Next.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return "has no slot to come"
}

func runNote(v *api.JobView) string {
	var notes []string
	if v.Paused != nil {
		notes = append(notes, "is paused: its run waits until somebody resumes it")
	}
	if n := v.ActiveRuns; n > 0 {
		notes = append(notes, verb(n, "run has", "runs have")+" not ended")
	}
	for name := range v.Spec.Params {
		if p := v.Spec.Params[name]; p.Required && p.Default == nil {
			notes = append(notes, "needs the parameter "+name+": run it from its own page")
		}
	}
	if len(notes) == 0 {
		return "one run, now"
	}
	return strings.Join(notes, "; ")
}

// oneJob performs an operation on the job with a path.
type oneJob func(s *site, r *http.Request, f *form, path string) error

// performJobs returns the action that performs one operation on each selected job.
func performJobs(done string, do oneJob) func(*site, *http.Request, *form) (string, error) {
	return func(s *site, r *http.Request, f *form) (string, error) {
		return f.each(f.Jobs, "job", "/jobs?done="+done, func(name string) error {
			return do(s, r, f, "/v1/jobs/"+url.PathEscape(name))
		})
	}
}

// each performs an operation on each selected job or run, and then leads to a page. A refusal does not stop the others.
func (f *form) each(names []string, noun, page string, do func(name string) error) (string, error) {
	var failed []string
	for _, name := range names {
		err := do(name)
		if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status != http.StatusServiceUnavailable {
			failed = append(failed, name+": "+problem.Detail)
		} else if err != nil {
			return "", err
		}
	}
	if len(failed) > 0 {
		f.Error = fmt.Sprintf("%d of %s refused. %s", len(failed), plural(len(names), noun), strings.Join(failed, "; "))
		return "", nil
	}
	return page, nil
}

func pauseOne(s *site, r *http.Request, f *form, path string) error {
	return s.ops.Do(r, http.MethodPost, path+"/pause", nil, api.ReasonRequest{Reason: f.value("reason")}, nil)
}

func resumeOne(s *site, r *http.Request, _ *form, path string) error {
	return s.ops.Do(r, http.MethodPost, path+"/resume", nil, api.ReasonRequest{}, nil)
}

// runOne creates a run. A repetition of the same form creates no second one.
func runOne(s *site, r *http.Request, f *form, path string) error {
	return s.ops.Do(r, http.MethodPost, path+"/runs", http.Header{"Idempotency-Key": {keyFor(r, f, "")}}, api.RunRequest{}, nil)
}

func preparePauseJobs(s *site, r *http.Request, f *form) error {
	f.Fields = []field{reasonField}
	return prepareJobs("Pause", "pause-job", []string{
		"No further slot of these jobs runs until somebody resumes them. Runs that have begun continue.",
	}, pauseNote)(s, r, f)
}

func prepareResumeJobs(s *site, r *http.Request, f *form) error {
	return prepareJobs("Resume", "resume-job", []string{
		"The schedules of these jobs continue. Slots that passed during the pause stay skipped.",
	}, resumeNote)(s, r, f)
}

func prepareRunJobs(s *site, r *http.Request, f *form) error {
	f.Fields = []field{{Name: "key", Kind: "hidden", Value: newKey()}}
	return prepareJobs("Run", "submit-run", []string{
		"This creates one run of each job, beside its schedule. The limits, labels and timeouts of the jobs apply.",
	}, runNote)(s, r, f)
}
