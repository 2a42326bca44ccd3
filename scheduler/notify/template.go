package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/rota-scheduler/rota/scheduler/budget"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Fields holds the fields that the template of a webhook may use. Fields that do not apply to a message are empty.
type Fields struct {
	Occasion job.Occasion // "" for a summary
	Title    string
	Body     string
	Count    int    // how many notices the message reports; more than 1 only in a summary
	Job      string // "" for a summary
	Run      string // "<job>/<id>"
	Slot     string // RFC 3339
	State    job.State
	Reason   string
	Worker   string
	Attempt  int
	Failures int    // failed runs in a row
	Ended    string // RFC 3339
	Output   string // the last lines
	URL      string // of the run or job at a replica
}

// The bounds of a template, in bytes.
const (
	maxFilled  = 64 << 10 // of its text
	maxWork    = 1 << 20  // of all that its functions make
	jsonGrowth = 6        // of a byte that becomes \u0000
)

var errFilled = fmt.Errorf("its text is longer than %d KiB", maxFilled>>10)

// CheckTemplate returns an error if a template cannot be parsed, uses an unknown field, or may run for long.
func CheckTemplate(text string) error {
	err := fill(io.Discard, text, sampleFields)
	if err != nil {
		reason := templateError.ReplaceAllString(err.Error(), "line $1: ")
		return errors.New(strings.Replace(reason, "unexpected EOF", "{{ end }} is missing", 1))
	}
	return nil
}

// templateError matches the beginning of template errors. Its group is the number of the line.
var templateError = regexp.MustCompile(`^template: message:(\d+)(?::\d+)?: (?:executing "message" at )?`)

// sampleFields has a value in each field, in the greatest length of names.
var sampleFields = func() Fields {
	name, at := strings.Repeat("a", job.MaxNameLength), stamp(time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC))
	return Fields{
		Occasion: job.OnFailure, Title: name, Body: name, Count: 1, Job: name, Run: name + "/" + at, Slot: at, State: job.Failed,
		Reason: name, Worker: name, Attempt: 1, Failures: 1, Ended: at, Output: name, URL: name,
	}
}()

// parseTemplate returns a template that can be executed once.
func parseTemplate(text string) (*template.Template, error) {
	limit := budget.New(maxWork, 0)
	functions := limit.Functions()
	functions["json"] = limit.Pay(jsonGrowth, toJSON)
	t, err := template.New("message").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	if budget.MayLoop(t) {
		return nil, errors.New("range and template are not allowed, since they may run for ever")
	}
	return t, nil
}

// toJSON returns a value as JSON: a text with its quotes, and with its special characters escaped.
func toJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Fill returns the text of m that its template makes.
func (m Message) Fill() (string, error) {
	f := m.Fields
	f.Title, f.Body = m.Title, m.Body
	var b strings.Builder
	if err := fill(&b, m.Template, f); err != nil {
		return "", err
	}
	return b.String(), nil
}

// fill writes the text that a template makes of f.
func fill(to io.Writer, text string, f Fields) error {
	t, err := parseTemplate(text)
	if err != nil {
		return err
	}
	err = t.Execute(&bounded{to, maxFilled}, f)
	if errors.Is(err, errFilled) {
		return errFilled
	}
	return err
}

// bounded is a writer with room for left bytes.
type bounded struct {
	io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFilled
	}
	return b.Writer.Write(p)
}

// fields returns the fields of a message about n, without its text.
func (n *Notice) fields(o job.Occasion, output, url string) Fields {
	f := Fields{Occasion: o, Count: 1, Job: n.Job, Failures: n.Failures, Output: output, URL: url}
	if e := n.Event; e != nil {
		f.Run, f.Slot, f.Reason = e.Run, stamp(e.From), e.Reason
		return f
	}
	r := n.Run
	f.Run, f.Slot, f.State, f.Reason, f.Worker, f.Attempt = r.Name(), stamp(r.Slot), r.State, r.Reason, r.Worker, r.Attempt
	if !r.Finished.IsZero() {
		f.Ended = stamp(r.Finished)
	}
	return f
}
