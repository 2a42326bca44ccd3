package httpx

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// mistake is an error in what the job says: another attempt does not mend it.
type mistake struct{ text string }

func (e *mistake) Error() string { return e.text }

// fields is what templates may use. Any other field is an error.
type fields struct {
	Job      string
	Run      string
	Slot     instant
	Attempt  int
	Token    int64
	Key      string // idempotency key
	Deadline instant
}

func newFields(req *executor.Request) fields {
	return fields{
		Job: req.Run.Job, Run: req.Run.Name(), Slot: instant{req.Run.Slot.UTC()}, Attempt: req.Run.Attempt,
		Token: req.Run.Token, Key: req.Run.IdempotencyKey(), Deadline: instant{req.Deadline.UTC()},
	}
}

// instant prints as RFC 3339, and has a time's methods: {{ .Slot.Format "2006-01" }}.
type instant struct{ time.Time }

func (i instant) String() string { return job.SlotID(i.Time) }

// filler fills in template fields and references.
type filler struct {
	fields fields
	refs   *refs.Resolver
}

// refFunc is the template function that stands for the references of a text.
const refFunc = "rotaReference"

// text fills in one text. A reference is resolved while the template is executed, so that neither is a value taken for
// a template, nor something that a caller chose (a key) for a reference.
func (f filler) text(what, s string) (string, error) {
	parts, err := refs.Split(s)
	if err != nil {
		return "", &mistake{what + ": " + err.Error()}
	}
	var (
		source strings.Builder
		found  []string
	)
	for _, p := range parts {
		if p.Ref {
			fmt.Fprintf(&source, "{{%s %d}}", refFunc, len(found))
			found = append(found, p.Text)
		} else {
			source.WriteString(p.Text)
		}
	}
	if !strings.Contains(source.String(), "{{") {
		return source.String(), nil
	}
	var unresolved error
	t, err := template.New(what).Option("missingkey=error").Funcs(template.FuncMap{
		refFunc: func(i int) (string, error) {
			var v string
			v, unresolved = f.refs.Resolve(found[i])
			return v, unresolved
		},
	}).Parse(source.String())
	if err != nil {
		return "", &mistake{err.Error()}
	}
	var b strings.Builder
	switch err := t.Execute(&b, f.fields); {
	case unresolved != nil:
		return "", unresolved
	case err != nil:
		var ee template.ExecError
		if errors.As(err, &ee) {
			err = ee.Err
		}
		return "", &mistake{err.Error()}
	}
	return b.String(), nil
}
