package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// bulkItems is how many jobs or runs one action changes at most. A page of jobs has fewer.
const bulkItems = 200

// selection is the kind of records that an action on several of them changes.
type selection struct {
	noun string // job or run
}

// effect says what an action does to one selected record.
type effect struct {
	job  string // for the right
	fits bool   // the action can change the record; otherwise, note has the reason
	note string
}

// prepare returns the preparation of an action on the selected records. It lists them with the effect on each. A record that does
// not fit is left out, and so is one for whose job the client lacks the right.
func (n selection) prepare(
	verb, operation string, facts []string, effectOn func(s *site, r *http.Request, name string) (effect, error),
) func(*site, *http.Request, *form) error {
	return func(s *site, r *http.Request, f *form) error {
		names := slices.Compact(slices.Sorted(slices.Values(r.Form[n.noun+"s"])))
		f.Title, f.Verb, f.Back, f.Facts = verb+" "+n.noun+"s", verb, "/"+n.noun+"s", facts
		if len(names) > bulkItems {
			return f.block(fmt.Sprintf("At most %d %ss can be selected.", bulkItems, n.noun))
		}
		denied := 0
		for _, name := range names {
			e, err := effectOn(s, r, name)
			problem, refused := errors.AsType[*api.Problem](err)
			switch {
			case refused:
				e.note = problem.Detail
			case err != nil:
				return err
			case !s.ops.May(r, operation, e.job):
				denied++
				e.note = "left out: your role does not include this action for it"
			case e.fits:
				f.Selected = append(f.Selected, name)
			default:
				e.note = "left out: " + e.note
			}
			f.Items = append(f.Items, formItem{Name: name, Note: e.note})
		}
		f.Noun = n.noun
		switch {
		case len(f.Selected) > 0:
			f.Title = verb + " " + plural(len(f.Selected), n.noun)
			f.Verb = f.Title
		case denied > 0:
			return f.block(fmt.Sprintf("Your role does not include this action for the selected %ss.", n.noun))
		case len(names) > 0:
			return f.block(fmt.Sprintf("The action changes none of the selected %ss.", n.noun))
		default:
			return f.block(fmt.Sprintf("No %s is selected. Select %ss in the list first.", n.noun, n.noun))
		}
		return nil
	}
}

// perform returns the action that performs one operation on each selected record, and then leads to their list. A refusal does not
// stop the others.
func (n selection) perform(
	done string, do func(s *site, r *http.Request, f *form, name string) error,
) func(*site, *http.Request, *form) (string, error) {
	return func(s *site, r *http.Request, f *form) (string, error) {
		var failed []string
		for _, name := range f.Selected {
			err := do(s, r, f, name)
			if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status != http.StatusServiceUnavailable {
				failed = append(failed, name+": "+problem.Detail)
			} else if err != nil {
				return "", err
			}
		}
		if len(failed) > 0 {
			f.Error = fmt.Sprintf("%d of %s refused. %s", len(failed), plural(len(f.Selected), n.noun), strings.Join(failed, "; "))
			return "", nil
		}
		return "/" + n.noun + "s?done=" + done, nil
	}
}

var severalJobs = selection{"job"}

// noted returns what an action does to a job, from the note about it.
func noted(note func(v *api.JobView) string) func(s *site, r *http.Request, name string) (effect, error) {
	return func(s *site, r *http.Request, name string) (effect, error) {
		v, err := get[api.JobView](s, r, jobPath(name))
		if err != nil {
			return effect{}, err
		}
		return effect{job: name, fits: true, note: note(&v)}, nil
	}
}

func pauseNote(v *api.JobView) string {
	switch {
	case v.Paused != nil:
		return "is paused already"
	case v.Next != nil:
		return "the first slot that is skipped: " + utcText(*v.Next)
	}
	return "has no slot to come"
}

func resumeNote(v *api.JobView) string {
	switch {
	case v.Paused == nil:
		return "is not paused"
	case v.Next != nil:
		return "the next slot: " + utcText(*v.Next)
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

func pauseOne(s *site, r *http.Request, f *form, name string) error {
	return s.giveReason(r, f, jobPath(name)+"/pause")
}

func resumeOne(s *site, r *http.Request, f *form, name string) error {
	return s.giveReason(r, f, jobPath(name)+"/resume")
}

// runOne creates a run. A repetition of the same form creates no second one.
func runOne(s *site, r *http.Request, f *form, name string) error {
	return s.ops.Do(r, http.MethodPost, jobPath(name)+"/runs", keyFor(r, f, ""), api.RunRequest{}, nil)
}

func preparePauseJobs(s *site, r *http.Request, f *form) error {
	f.Fields = []field{reasonField}
	return severalJobs.prepare("Pause", "pause-job", []string{
		"No further slot of these jobs runs until somebody resumes them. Runs that have begun continue.",
	}, noted(pauseNote))(s, r, f)
}

func prepareResumeJobs(s *site, r *http.Request, f *form) error {
	return severalJobs.prepare("Resume", "resume-job", []string{
		"The schedules of these jobs continue. Slots that passed during the pause stay skipped.",
	}, noted(resumeNote))(s, r, f)
}

func prepareRunJobs(s *site, r *http.Request, f *form) error {
	f.Fields = []field{keyField()}
	return severalJobs.prepare("Run", "submit-run", []string{
		"This creates one run of each job, beside its schedule. The limits, labels and timeouts of the jobs apply.",
	}, noted(runNote))(s, r, f)
}
