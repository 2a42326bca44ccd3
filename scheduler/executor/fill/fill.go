package fill

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/rota-scheduler/rota/scheduler/budget"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Mistake is an error in the job's texts, which a retry cannot repair.
type Mistake struct{ Text string }

func (e *Mistake) Error() string { return e.Text }

// Fields holds the fields that templates may use. Any other field is a Mistake.
type Fields struct {
	Job      string
	Run      string
	Slot     Instant
	Attempt  int
	Token    int64
	Key      string // idempotency key
	Deadline Instant
	Params   map[string]string
}

// Instant prints as RFC 3339. It has the methods of a time: {{ .Slot.Format "2006-01" }}.
type Instant struct{ time.Time }

func (i Instant) String() string { return job.SlotID(i.Time) }

// maxLayout is the longest layout of a time, in bytes. A layout of a layout would otherwise grow without end.
const maxLayout = 128

var errLayout = fmt.Errorf("the layout of a time has more than %d bytes", maxLayout)

// Format hides the method of the time, which accepts a layout of any length.
func (i Instant) Format(layout string) (string, error) {
	if len(layout) > maxLayout {
		return "", errLayout
	}
	return i.Time.Format(layout), nil
}

// AppendFormat hides the method of the time, as Format does.
func (i Instant) AppendFormat(to []byte, layout string) ([]byte, error) {
	if len(layout) > maxLayout {
		return nil, errLayout
	}
	return i.Time.AppendFormat(to, layout), nil
}

// Filler fills in the fields and references of one attempt.
type Filler struct {
	Fields  Fields
	Resolve func(ref string) (string, error)
	Inputs  map[string]map[string]string // what {{ output "job" "name" }} returns
}

// output returns an output of a parent.
func (f Filler) output(parent, name string) (string, error) {
	v, ok := f.Inputs[parent][name]
	if !ok {
		return "", fmt.Errorf("the run of parent %s has no output %s", parent, name)
	}
	return v, nil
}

// Text fills in the text s, which errors call what. An error that is not a Mistake comes from a reference.
func (f Filler) Text(what, s string) (string, error) {
	text, err := parseText(what, s)
	if err != nil {
		return "", err
	}
	if text.template == nil {
		return text.plain, nil
	}
	var b strings.Builder
	if err := text.write(&b, f); err != nil {
		return "", err
	}
	return b.String(), nil
}

// text is a parsed text.
type text struct {
	plain    string             // the text, if template is nil
	template *template.Template // nil: the text has no actions
	refs     []string
}

// refFunc is the template function that replaces the references of a text.
const refFunc = "rotaReference"

// outputFunc is the template function that returns an output of a parent.
const outputFunc = "output"

func parseText(what, s string) (text, error) {
	parts, err := refs.Split(s)
	if err != nil {
		return text{}, &Mistake{what + ": " + err.Error()}
	}
	var source strings.Builder
	var t text
	for _, p := range parts {
		if p.Ref {
			// Within quotes in an action, the call would stay plain text.
			if s := source.String(); strings.LastIndex(s, "{{") > strings.LastIndex(s, "}}") {
				return text{}, &Mistake{fmt.Sprintf("%s: reference %s stands within {{ }}: write it outside", what, p.Text)}
			}
			fmt.Fprintf(&source, "{{%s %d}}", refFunc, len(t.refs))
			t.refs = append(t.refs, p.Text)
		} else {
			source.WriteString(p.Text)
		}
	}
	t.plain = source.String()
	if !strings.Contains(t.plain, "{{") {
		return t, nil
	}
	stub := budget.New(0, 0).Functions() // write sets the real functions
	stub[refFunc], stub[outputFunc] = func(int) string { return "" }, func(_, _ string) string { return "" }
	if t.template, err = template.New(what).Option("missingkey=error").Funcs(stub).Parse(t.plain); err != nil {
		return text{}, &Mistake{err.Error()}
	}
	budget.Count(t.template)
	return t, nil
}

// The budget of one text. The longest text of a definition and the longest file of a reference fit.
const (
	maxText  = 16 << 20 // bytes
	maxSteps = 100_000  // repetitions
)

func (t text) write(to io.Writer, f Filler) error {
	var unresolved error
	limit := budget.New(maxText, maxSteps)
	functions := limit.Functions()
	functions[outputFunc] = f.output
	functions[refFunc] = func(i int) (string, error) {
		var v string
		v, unresolved = f.Resolve(t.refs[i])
		return v, unresolved
	}
	switch err := t.template.Funcs(functions).Execute(limit.Writer(to), f.Fields); {
	case unresolved != nil:
		return unresolved
	case err != nil:
		if ee, ok := errors.AsType[template.ExecError](err); ok {
			err = ee.Err
		}
		return &Mistake{err.Error()}
	}
	return nil
}
