package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const definitionHelp = "YAML, as in a job file. The reference of job keys lists all keys."

func prepareEdit(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	if err != nil {
		return err
	}
	f.Title, f.Verb = "Edit "+f.Job, "Save"
	if v.Origin.Kind == job.OriginFile {
		f.Blocked, f.Error = true, "The job is defined in "+v.Origin.Source+". Change it there, and apply the file again."
		return nil
	}
	text, err := s.cfg.Definition(f.Job, v.Spec)
	if err != nil {
		return err
	}
	f.Facts = []string{"Runs that have begun continue with the old definition. Runs that wait get the new one."}
	f.Fields = []field{
		{Name: "definition", Label: "Definition", Kind: "code", Help: definitionHelp, Value: text},
		{Name: "revision", Kind: "hidden", Value: strconv.FormatInt(v.Revision, 10)},
	}
	return nil
}

func prepareNew(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "New job", "Create", "/jobs"
	f.Facts = []string{"The job is stored in the cluster, and belongs to no job file."}
	f.Fields = []field{
		{Name: "name", Label: "Name", Kind: "text", Help: "Small letters, digits and dashes; at most 63.", Example: "nightly-backup"},
		{
			Name:  "definition",
			Label: "Definition",
			Kind:  "code",
			Help:  definitionHelp,
			Value: "schedule: \"30 2 * * *\"\ntimezone: UTC\ntimeout: 30m\nshell: echo hello\n",
		},
	}
	return nil
}

// performEdit creates or replaces a job.
func performEdit(s *site, r *http.Request, f *form) (string, error) {
	name, header := f.Job, http.Header{"If-Match": {`"` + f.value("revision") + `"`}}
	if f.Action == "new" {
		name, header = strings.TrimSpace(f.value("name")), http.Header{"If-None-Match": {"*"}}
		if err := job.CheckName(name); err != nil {
			return "", &api.Problem{Fields: []api.FieldError{{Field: "name", Message: err.Error()}}}
		}
	}
	spec, err := specOf(f.value("definition"))
	if err != nil {
		return "", &api.Problem{Fields: []api.FieldError{{Field: "definition", Message: err.Error()}}}
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

// maxKeys is how many keys the text of a definition may have. Package yaml compares each key of a mapping with each other one.
const maxKeys = 2000

// specOf reads the definition of one job. It may have the form of a job file with one job.
func specOf(text string) (map[string]exact, error) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(text), &doc)
	if n := countKeys(&doc); err == nil && n > maxKeys {
		return nil, fmt.Errorf("this has %d keys: a job has at most %d here", n, maxKeys)
	}
	var rough map[string]any // to bound the size of spec: aliases make a short text large
	if err == nil {
		err = doc.Decode(&rough)
	}
	if room := api.MaxBody; err == nil && !fits(rough, &room) {
		return nil, fmt.Errorf("this is larger than %d bytes", api.MaxBody)
	}
	var spec map[string]exact
	if err == nil {
		err = keyless(&doc)
	}
	if err == nil {
		err = doc.Decode(&spec)
	}
	if err != nil {
		return nil, fmt.Errorf("this is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	jobs, ok := spec["jobs"].value.(map[string]exact)
	switch {
	case !ok:
		return spec, nil
	case len(jobs) != 1:
		return nil, fmt.Errorf("this has %d jobs: write one job", len(jobs))
	}
	for _, v := range jobs {
		if spec, ok = v.value.(map[string]exact); !ok {
			return nil, errors.New("the job has no keys")
		}
	}
	return spec, nil
}

// exact is a value of a definition, as a job file has it: 1.10 keeps its zero. A number that JSON lacks, such as 0755, is a text.
type exact struct{ value any }

// UnmarshalYAML reads a node.
func (e *exact) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		var keys map[string]exact
		err := n.Decode(&keys)
		e.value = keys
		return err
	case yaml.SequenceNode:
		var items []exact
		err := n.Decode(&items)
		e.value = items
		return err
	}
	e.value = n.Value
	switch n.ShortTag() {
	case "!!int", "!!float":
		number := strings.TrimPrefix(n.Value, "+")
		if strings.HasPrefix(number, ".") {
			number = "0" + number
		}
		if json.Valid([]byte(number)) {
			e.value = json.RawMessage(number)
		}
	case "!!bool", "!!null": // True and ~ are such values too
		return n.Decode(&e.value)
	}
	return nil
}

// MarshalJSON writes the value.
func (e exact) MarshalJSON() ([]byte, error) { return json.Marshal(e.value) }

// keyless returns an error if a key of a mapping is nothing, as in "~: 1". The decoder would leave such a key out.
func keyless(n *yaml.Node) error {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: a key is missing", child.Line)
		}
		if err := keyless(child); err != nil {
			return err
		}
	}
	return nil
}

// fits takes the size of a value from room, in bytes, and reports whether the room is enough. Aliases make a short text large.
func fits(value any, room *int) bool {
	*room--
	switch v := value.(type) {
	case string:
		*room -= len(v)
	case []any:
		for i := range v {
			if !fits(v[i], room) {
				return false
			}
		}
	case map[string]any:
		for name := range v {
			if !fits(name, room) || !fits(v[name], room) {
				return false
			}
		}
	case map[any]any:
		for name := range v {
			if !fits(name, room) || !fits(v[name], room) {
				return false
			}
		}
	}
	return *room >= 0
}

// countKeys counts the keys of all mappings in a node.
func countKeys(n *yaml.Node) int {
	keys := 0
	if n.Kind == yaml.MappingNode {
		keys = len(n.Content) / 2
	}
	for _, child := range n.Content {
		keys += countKeys(child)
	}
	return keys
}

func prepareLimit(s *site, r *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "New limit", "Save", "/limits"
	name := field{
		Name:    "name",
		Label:   "Name",
		Kind:    "text",
		Help:    "Small letters, digits and dashes; at most 63.",
		Example: "database",
	}
	concurrent := field{Name: "runs", Label: "Runs at a time", Kind: "text", Help: "A number. Empty: any number.", Example: "4"}
	rate := field{
		Name:    "rate",
		Label:   "Rate",
		Kind:    "text",
		Help:    "Attempts that begin in a span of time. Empty: any.",
		Example: "10/s",
	}
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
			return "", &api.Problem{Fields: []api.FieldError{{Field: "runs", Message: "Write a number from 1 on."}}}
		}
	}
	if text := strings.TrimSpace(f.value("rate")); text != "" {
		if err := spec.Rate.UnmarshalText([]byte(text)); err != nil {
			return "", &api.Problem{Fields: []api.FieldError{{Field: "rate", Message: err.Error()}}}
		}
	}
	name := strings.TrimSpace(f.value("name"))
	if err := job.CheckName(name); err != nil {
		return "", &api.Problem{Fields: []api.FieldError{{Field: "name", Message: err.Error()}}}
	}
	isNew, header := f.value("revision") == "0", http.Header{"If-Match": {`"` + f.value("revision") + `"`}}
	if isNew {
		header = http.Header{"If-None-Match": {"*"}}
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
