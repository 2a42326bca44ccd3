package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// form asks for the confirmation of an action, and for its values. It says what the action touches.
type form struct {
	Action  string // name of the action
	Title   string
	Verb    string // on the button
	Danger  bool
	Facts   []string // what the action touches
	Fields  []field
	Error   string // of the action as a whole
	Job     string // the job that the action concerns; empty for none
	Run     string // the id of its run; empty for none
	Back    string // where the client goes if it does not confirm
	Blocked bool   // the action is impossible; Error says why

	Preview bool     // the form shows what it would do, or what it has made
	Secret  string   // a new token, which is shown once; empty: none
	Notes   []string // about a text that the client has imported
	Report  *report  // what an examination has found; nil: none

	Noun     string     // what the action changes, if it concerns several records: job or run; empty otherwise
	Selected []string   // the names of those records that it changes
	Items    []formItem // what the action does to each of the selected records
}

// subject is what an action concerns.
type subject int

const (
	onCluster subject = iota
	onJob             // the address of the form names a job
	onRun             // the address of the form names a job and a run
	onSeveral         // it concerns several jobs, and prepare checks the right for each
)

// unnamed returns what the address of a form lacks; empty if it lacks nothing.
func (on subject) unnamed(f *form) string {
	switch {
	case f.Job == "" && (on == onJob || on == onRun):
		return "job"
	case f.Run == "" && on == onRun:
		return "run"
	}
	return ""
}

// formItem is one job that an action concerns, and what the action does to it.
type formItem struct{ Name, Note string }

// field is one value of a form.
type field struct {
	Name, Label, Help, Value, Error string
	Kind                            string   // text, area, code, choice or hidden
	Options                         []string // of a choice
	Example                         string
}

// value returns what the client gave in a field.
func (f *form) value(name string) string {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return f.Fields[i].Value
		}
	}
	return ""
}

// refuse notes why the action failed: beside the fields that are wrong, or for the action as a whole.
func (f *form) refuse(err error) error {
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok {
		return err
	}
	placed := false
	for _, mistake := range problem.Fields {
		placed = f.blame(mistake) || placed
	}
	if !placed {
		f.Error = problem.Detail
	}
	return nil
}

// keyField returns the hidden field with the key of a form: see keyFor.
func keyField() field { return field{Name: "key", Kind: "hidden", Value: rand.Text()} }

// keyFor returns the header with the idempotency key of a form for one of its runs; ref is empty if it has only one. The key
// depends on all values that the client has sent. So a form that is sent twice makes one run, and a form that was changed after
// Back makes another one.
func keyFor(r *http.Request, f *form, ref string) http.Header {
	sum := sha256.Sum256([]byte(f.value("key") + "/" + ref + "?" + r.PostForm.Encode()))
	return http.Header{"Idempotency-Key": {hex.EncodeToString(sum[:16])}}
}

// ifMatch returns the header of a change of a definition with a revision, and ifAbsent that of a new one.
func ifMatch(revision string) http.Header { return http.Header{"If-Match": {`"` + revision + `"`}} }
func ifAbsent() http.Header               { return http.Header{"If-None-Match": {"*"}} }

// wrong returns the refusal of a value of a form.
func wrong(field, message string) error {
	return &api.Problem{Fields: []api.FieldError{{Field: field, Message: message}}}
}

// block says why the action is impossible.
func (f *form) block(why string) error {
	f.Blocked, f.Error = true, why
	return nil
}

// blame notes a mistake beside its field. A text has all mistakes that belong to no field. It returns false if there is no place.
func (f *form) blame(mistake api.FieldError) bool {
	if most, ok := strings.CutPrefix(mistake.Message, "expected length <= "); ok {
		mistake.Message = "Write at most " + most + " characters." // the API gives this rule without words
	}
	var text *field
	for i := range f.Fields {
		in := &f.Fields[i]
		switch {
		case in.Kind == "hidden":
		case mistake.Field == in.Name || strings.HasPrefix(mistake.Field, in.Name+"."):
			in.Error = join(in.Error, mistake.Message)
			return true
		case in.Kind == "code":
			text = in
		}
	}
	if text == nil {
		return false
	}
	message := mistake.Message
	if !strings.HasPrefix(message, mistake.Field) {
		message = mistake.Field + ": " + message
	}
	text.Error = join(text.Error, message)
	return true
}

func join(a, b string) string { return strings.TrimPrefix(a+"\n"+b, "\n") }

// path returns the path of the form's job or run in the API.
func (f *form) path() string {
	if f.Run != "" {
		return "/v1/runs/" + url.PathEscape(f.Job) + "/" + url.PathEscape(f.Run)
	}
	return jobPath(f.Job)
}

// ask shows the form of an action.
func (s *site) ask(r *http.Request) (*page, error) {
	f, err := s.prepare(r)
	if err != nil {
		return nil, err
	}
	return &page{View: "form", Title: f.Title, Data: f}, nil
}

// prepare returns the form of the action that a request names, with what the client has typed.
func (s *site) prepare(r *http.Request) (*form, error) {
	a, ok := actions[r.PathValue("action")]
	if !ok {
		_, err := s.notFound(r)
		return nil, err
	}
	_ = r.ParseForm() // a form that cannot be read has no values
	f := &form{Action: r.PathValue("action"), Job: r.FormValue("job"), Run: r.FormValue("run"), Back: "/"}
	switch {
	case f.Run != "":
		f.Back = "/runs/" + url.PathEscape(f.Job) + "/" + url.PathEscape(f.Run)
	case f.Job != "":
		f.Back = "/jobs/" + url.PathEscape(f.Job)
	}
	if what := a.on.unnamed(f); what != "" {
		return nil, &api.Problem{Status: http.StatusNotFound, Detail: "The address of this form names no " + what + "."}
	}
	if a.on != onSeveral && !s.ops.May(r, a.operation, f.Job) {
		return nil, &api.Problem{Status: http.StatusForbidden, Detail: "Your role does not include this action."}
	}
	if err := a.prepare(s, r, f); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		for i := range f.Fields {
			if given := r.PostForm[f.Fields[i].Name]; given != nil {
				f.Fields[i].Value = strings.ReplaceAll(given[0], "\r\n", "\n") // browsers end lines so
			}
		}
	}
	return f, nil
}

// perform does what a form asks for. After a refusal, it shows the form again with everything that was typed.
func (s *site) perform(w http.ResponseWriter, r *http.Request) {
	f, err := s.prepare(r)
	if err != nil {
		s.write(w, r, s.unsent(err))
		return
	}
	if !f.Blocked {
		var next string
		next, err = actions[f.Action].perform(s, r, f)
		if err == nil && f.Error == "" && next != "" {
			http.Redirect(w, r, next, http.StatusSeeOther)
			return
		}
	}
	p := &page{View: "form", Title: f.Title, Data: f, Status: http.StatusUnprocessableEntity}
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status >= http.StatusInternalServerError {
		p.Status = problem.Status // the values of the form are right
	}
	if err = f.refuse(err); err != nil {
		s.write(w, r, s.unsent(err))
		return
	}
	if f.Preview && f.Error == "" {
		p.Status = http.StatusOK
	}
	s.write(w, r, p)
}

// unsent returns the page that shows why a form had no effect. It does not follow the cluster: a browser that reads the page again
// sends the form again.
func (s *site) unsent(err error) *page {
	p := s.failed(err)
	p.Watch = ""
	if data, ok := p.Data.(*problemData); ok && p.Status >= http.StatusInternalServerError && data.Link == "" {
		data.Hint = "Go back, and send the form again."
	}
	return p
}
