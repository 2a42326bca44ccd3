package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// File is what a job file defines.
type File struct {
	Jobs   map[string]job.Spec
	Limits map[string]job.LimitSpec
}

// change is one change that a job file makes.
type change struct {
	item     formItem
	title    string // of the definition, for sentences
	method   string // of the request that makes the change; "": there is nothing to change
	path     string
	revision int64 // of the definition that is replaced or removed; 0: it is created
	body     any
	depth    int  // in the workflow: a job follows its parents, and is removed before them
	refused  bool // a file of a replica defines the job
}

// emptyFile is the text of the form before a person writes.
const emptyFile = "version: 1\njobs:\n"

// The choices of what happens to definitions that the file lacks.
const (
	keepOthers   = "keep"
	removeOthers = "remove"
)

func prepareApply(_ *site, r *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "Apply a job file", "Show the changes", "/jobs"
	f.Facts = []string{"The cluster gets the jobs and the limits of the file. Nothing changes before you have seen the changes."}
	f.Fields = []field{
		{Name: "file", Label: "Job file", Kind: "code", Help: "YAML. The reference of job files describes it.", Value: emptyFile},
		{
			Name: "others", Label: "Other jobs of the API", Kind: "choice", Options: []string{keepOthers, removeOthers}, Value: keepOthers,
			Help: "remove: jobs and limits that the API created and that the file lacks are removed.",
		},
		{
			Name: "selector", Label: "Only those with labels", Kind: "text", Example: "team=billing",
			Help: "With remove: only jobs with these labels, and no limits.",
		},
		{Name: checkedField, Kind: "hidden"},
		{Name: notesField, Kind: "hidden"},
	}
	if text := strings.TrimSpace(r.PostFormValue(notesField)); text != "" && r.PathValue("action") == f.Action {
		f.Notes = strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	}
	return nil
}

// performApply first shows the changes. It makes them when the client has confirmed them.
func performApply(s *site, r *http.Request, f *form) (string, error) {
	file, err := s.cfg.File(f.value("file"))
	if err != nil {
		return "", wrong("file", err.Error())
	}
	changes, err := s.changes(r, f, &file)
	if err != nil {
		return "", err
	}
	n, removals, refusals := 0, 0, 0
	for i := range changes {
		c := &changes[i]
		f.Items = append(f.Items, c.item)
		switch {
		case c.refused:
			refusals++
		case c.method == http.MethodDelete:
			n, removals = n+1, removals+1
		case c.method != "":
			n++
		}
	}
	f.Danger = removals > 0
	switch {
	case refusals > 0:
		f.Error = fmt.Sprintf("%s refused, so nothing would change.", verb(refusals, "definition is", "definitions are"))
		f.preview("")
		return "", nil
	case n == 0:
		f.Facts = append(f.Facts, "The cluster has these definitions already.")
		f.preview("")
		return "", nil
	case !f.confirmed():
		f.preview("Change " + plural(n, "definition"))
		return "", nil
	}
	return s.apply(r, f, changes)
}

// apply makes the changes in order. It stops at the first refusal.
func (s *site) apply(r *http.Request, f *form, changes []change) (string, error) {
	var done []string
	for i := range changes {
		c := &changes[i]
		if c.method == "" {
			continue
		}
		header := ifMatch(fmt.Sprint(c.revision))
		if c.revision == 0 {
			header = ifAbsent()
		}
		err := s.ops.Do(r, c.method, c.path, header, c.body, nil)
		if problem, refused := errors.AsType[*api.Problem](err); refused {
			before := cmp.Or(strings.Join(done, ", "), "nothing")
			f.Error = fmt.Sprintf("%s: %s Changed before: %s.", c.title, sentence(problem.Detail), before)
			f.preview("")
			return "", nil
		}
		if err != nil {
			return "", err
		}
		done = append(done, c.title)
	}
	return "/jobs?done=applied", nil
}

func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

// changes compares a file with the cluster. Limits come before the jobs that name them; removals come last.
func (s *site) changes(r *http.Request, f *form, file *File) (list []change, err error) {
	limits, err := get[api.LimitList](s, r, "/v1/limits")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(file.Limits)) {
		spec := file.Limits[name]
		c := change{title: "limit " + name, method: http.MethodPut, path: "/v1/limits/" + url.PathEscape(name), body: spec}
		at := slices.IndexFunc(limits.Limits, func(v api.LimitView) bool { return v.Name == name })
		if at < 0 {
			c.compare(0, job.Origin{}, nil, spec)
		} else {
			c.compare(limits.Limits[at].Revision, limits.Limits[at].Origin, limits.Limits[at].Spec, spec)
		}
		list = append(list, c)
	}
	jobs, err := s.jobChanges(r, file)
	if err != nil {
		return nil, err
	}
	list = append(list, jobs...)
	if f.value("others") == removeOthers {
		removals, err := s.removals(r, f, file, limits.Limits)
		if err != nil {
			return nil, err
		}
		list = append(list, removals...)
	}
	return list, nil
}

// jobChanges compares the jobs of a file with those of the cluster. Parents come first.
func (s *site) jobChanges(r *http.Request, file *File) (list []change, err error) {
	for _, name := range slices.Sorted(maps.Keys(file.Jobs)) {
		spec := file.Jobs[name]
		c := change{
			title: "job " + name, method: http.MethodPut, path: jobPath(name), body: spec,
			depth: depth(name, file.Jobs),
		}
		old, err := get[api.JobView](s, r, c.path)
		problem, refused := errors.AsType[*api.Problem](err)
		switch {
		case err == nil:
			c.compare(old.Revision, old.Origin, old.Spec, spec)
		case refused && problem.Status == http.StatusNotFound:
			c.compare(0, job.Origin{}, nil, spec)
		default:
			return nil, err
		}
		if next := s.cfg.Upcoming(name, &spec, s.ops.Now()); c.method != "" && !next.IsZero() {
			c.item.Note += "; the next slot: " + utcText(next)
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(a.depth, b.depth) })
	return list, nil
}

// removals returns the removals of what the API created and the file lacks. Steps come before their parents, and limits last.
func (s *site) removals(r *http.Request, f *form, file *File, limits []api.LimitView) (list []change, err error) {
	selector := strings.TrimSpace(f.value("selector"))
	jobs, err := s.selectJobs(r, selector)
	if err != nil {
		return nil, err
	}
	present := make(map[string]job.Spec, len(jobs))
	for i := range jobs {
		present[jobs[i].Name] = *jobs[i].Spec
	}
	for i := range jobs {
		v := &jobs[i]
		if _, kept := file.Jobs[v.Name]; kept || v.Origin.Kind != job.OriginAPI {
			continue
		}
		c := change{
			title: "job " + v.Name, method: http.MethodDelete, path: jobPath(v.Name), revision: v.Revision,
			depth: depth(v.Name, present), item: formItem{Name: "job " + v.Name, Note: "removed"},
		}
		if n := v.ActiveRuns; n > 0 {
			c.item.Note += "; " + verb(n, "run has", "runs have") + " not ended, and runs that wait are canceled"
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(b.depth, a.depth) })
	for i := range limits {
		v := &limits[i]
		if _, kept := file.Limits[v.Name]; !kept && selector == "" && v.Origin.Kind == job.OriginAPI {
			list = append(list, change{
				title: "limit " + v.Name, method: http.MethodDelete, path: "/v1/limits/" + url.PathEscape(v.Name), revision: v.Revision,
				item: formItem{Name: "limit " + v.Name, Note: "removed"},
			})
		}
	}
	return list, nil
}

// compare says how the change turns the definition before into after. before nil means that there is none.
func (c *change) compare(revision int64, origin job.Origin, before, after any) {
	c.revision, c.item = revision, formItem{Name: c.title, Note: "created"}
	if revision == 0 {
		return
	}
	keys := differentKeys(before, after)
	switch {
	case len(keys) == 0:
		c.method, c.item.Note = "", "unchanged"
	case origin.Kind == job.OriginFile:
		c.refused, c.method = true, ""
		c.item.Note = "refused: it is defined in " + cmp.Or(origin.Source, "a file") + " of a replica. Change it there"
	default:
		c.item.Note = "changed: " + strings.Join(keys, ", ")
	}
}

// differentKeys returns the keys whose values differ between two definitions.
func differentKeys(before, after any) (keys []string) {
	a, b := keysOf(before), keysOf(after)
	for key := range a {
		if !bytes.Equal(a[key], b[key]) {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func keysOf(v any) map[string]json.RawMessage {
	keys := map[string]json.RawMessage{}
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &keys) // a definition is an object
	}
	return keys
}

// depth returns how many parents, one behind the other, a job of some jobs has. The jobs have no cycle.
func depth(name string, jobs map[string]job.Spec) int {
	deepest := 0
	for _, parent := range jobs[name].After {
		if _, ok := jobs[parent.Job]; ok {
			deepest = max(deepest, depth(parent.Job, jobs)+1)
		}
	}
	return deepest
}
