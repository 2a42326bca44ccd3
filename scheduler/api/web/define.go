package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const nameHelp = "Small letters, digits and dashes; at most 63."

func definitionField(text string) field {
	const help = "YAML, as in a job file. The reference of job keys lists all keys."
	return field{Name: "definition", Label: "Definition", Kind: "code", Help: help, Value: text}
}

func prepareEdit(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	f.Title, f.Verb = "Edit "+f.Job, "Save"
	if problem, ok := errors.AsType[*api.Problem](err); ok && r.Method == http.MethodPost { // the text must not be lost
		f.Blocked, f.Error = true, sentence(problem.Detail)+" Nothing was changed. Copy your text."
		f.Fields = []field{definitionField("")}
		return nil
	}
	if err != nil {
		return err
	}
	if v.Origin.Kind == job.OriginFile {
		return f.block("The job is defined in " + v.Origin.Source + ". Change it there, and apply the file again.")
	}
	text, err := s.cfg.Definition(f.Job, v.Spec)
	if err != nil {
		return err
	}
	f.Facts = []string{"Runs that have begun continue with the old definition. Runs that wait get the new one."}
	f.Fields = []field{
		definitionField(text),
		{Name: "revision", Kind: "hidden", Value: strconv.FormatInt(v.Revision, 10)},
	}
	return nil
}

func prepareNew(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "New job", "Create", "/jobs"
	f.Facts = []string{"The job is stored in the cluster, and belongs to no job file."}
	f.Fields = []field{
		{Name: "name", Label: "Name", Kind: "text", Help: nameHelp, Example: "nightly-backup"},
		definitionField("schedule: \"30 2 * * *\"\ntimezone: UTC\ntimeout: 30m\nshell: echo hello\n"),
	}
	return nil
}

// performEdit creates or replaces a job.
func performEdit(s *site, r *http.Request, f *form) (string, error) {
	name, header := f.Job, ifMatch(f.value("revision"))
	if f.Action == "new" {
		name, header = strings.TrimSpace(f.value("name")), ifAbsent()
		if err := job.CheckName(name); err != nil {
			return "", wrong("name", err.Error())
		}
	}
	spec, err := specOf(f.value("definition"))
	if err != nil {
		return "", wrong("definition", err.Error())
	}
	link := "/jobs/" + url.PathEscape(name)
	err = s.ops.Do(r, http.MethodPut, "/v1"+link, header, spec, nil)
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status == http.StatusPreconditionFailed {
		problem.Detail = "Somebody else has changed the job meanwhile. Copy your text, and open the form again."
		if f.Action == "new" {
			problem.Fields = []api.FieldError{{Field: "name", Message: "There is a job of this name already."}}
		}
	}
	return link + "?done=saved", err
}
