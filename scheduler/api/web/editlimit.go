package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func prepareLimit(s *site, r *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "New limit", "Save", "/limits"
	name := field{Name: "name", Label: "Name", Kind: "text", Help: nameHelp, Example: "database"}
	concurrent := field{Name: "runs", Label: "Runs at a time", Kind: "text", Help: "A number. Empty: any number.", Example: "4"}
	rate := field{Name: "rate", Label: "Rate", Kind: "text", Example: "10/s"}
	rate.Help = "Attempts that begin in a span of time. Empty: any."
	f.Facts = []string{"The limit applies to all runs of the jobs that name it, in the whole cluster."}
	revision := int64(0) // there is no limit of this name yet
	if given := r.URL.Query().Get("name"); given != "" {
		v, err := limitOf(s, r, given)
		if err != nil {
			return err
		}
		f.Title, name.Value, name.Kind, revision = "Edit limit "+given, given, "hidden", v.Revision
		if v.Spec.Concurrent > 0 {
			concurrent.Value = strconv.Itoa(v.Spec.Concurrent)
		}
		if text, err := v.Spec.Rate.MarshalText(); err == nil && !v.Spec.Rate.IsZero() {
			rate.Value = string(text)
		}
	} else if sent := r.PostForm.Get("revision"); sent != "" && sent != "0" {
		f.Title, name.Kind = "Edit limit "+r.PostForm.Get("name"), "hidden"
	}
	f.Fields = []field{name, concurrent, rate, {Name: "revision", Kind: "hidden", Value: strconv.FormatInt(revision, 10)}}
	return nil
}

func limitOf(s *site, r *http.Request, name string) (api.LimitView, error) {
	list, err := get[api.LimitList](s, r, "/v1/limits")
	for i := range list.Limits {
		if list.Limits[i].Name == name {
			return list.Limits[i], err
		}
	}
	if err == nil {
		err = &api.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("There is no limit %s.", name)}
	}
	return api.LimitView{}, err
}

func performLimit(s *site, r *http.Request, f *form) (string, error) {
	var spec job.LimitSpec
	var err error
	if text := strings.TrimSpace(f.value("runs")); text != "" {
		if spec.Concurrent, err = strconv.Atoi(text); err != nil || spec.Concurrent < 1 {
			return "", wrong("runs", "Write a number from 1 on.")
		}
	}
	if text := strings.TrimSpace(f.value("rate")); text != "" {
		if err := spec.Rate.UnmarshalText([]byte(text)); err != nil {
			return "", wrong("rate", err.Error())
		}
	}
	name := strings.TrimSpace(f.value("name"))
	if err := job.CheckName(name); err != nil {
		return "", wrong("name", err.Error())
	}
	isNew, header := f.value("revision") == "0", ifMatch(f.value("revision"))
	if isNew {
		header = ifAbsent()
	}
	err = s.ops.Do(r, http.MethodPut, "/v1/limits/"+name, header, spec, nil)
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status == http.StatusPreconditionFailed {
		problem.Detail = "Somebody else has changed the limit meanwhile. Open the form again."
		if isNew {
			problem.Fields = []api.FieldError{{Field: "name", Message: "There is a limit of this name already."}}
		}
	}
	return "/limits?done=saved", err
}

func prepareDeleteLimit(s *site, r *http.Request, f *form) error {
	v, err := limitOf(s, r, r.FormValue("name"))
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Danger, f.Back = "Delete limit "+v.Name, "Delete", true, "/limits"
	f.Facts = []string{
		"A limit that a job names cannot be deleted.",
		fmt.Sprintf("%s it now.", verb(v.Held, "run holds", "runs hold")),
	}
	f.Fields = []field{{Name: "name", Kind: "hidden", Value: v.Name}}
	return nil
}

func performDeleteLimit(s *site, r *http.Request, f *form) (string, error) {
	return "/limits?done=deleted", s.ops.Do(r, http.MethodDelete, "/v1/limits/"+url.PathEscape(f.value("name")), nil, nil, nil)
}
