package fill

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/budget"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Check returns an error if a text would fail in every run, whatever the values of its fields and references. The error does
// not name the text.
func Check(s string) error {
	t, err := parseText("text", s)
	if err == nil && t.template != nil && !budget.MayLoop(t.template) { // one that may loop is not executed here
		s := sample
		s.Inputs = make(map[string]map[string]string)
		for _, o := range outputsOf(t.template) {
			if !job.IsOutputName(o.Name) {
				return &Mistake{"no output can have the name " + strconv.Quote(o.Name)}
			}
			if s.Inputs[o.Job] == nil {
				s.Inputs[o.Job] = make(map[string]string)
			}
			s.Inputs[o.Job][o.Name] = strings.Repeat("1", 16)
		}
		s.Fields.Params = make(map[string]string)
		for _, name := range paramsOf(t.template) {
			s.Fields.Params[name] = strings.Repeat("1", 16)
		}
		err = t.write(io.Discard, s)
	}
	if err != nil {
		reason := errorPrefix.ReplaceAllString(err.Error(), "")
		return &Mistake{strings.Replace(reason, "unexpected EOF", "{{ end }} is missing", 1)}
	}
	return nil
}

// errorPrefix matches the beginning of template errors.
var errorPrefix = regexp.MustCompile(`^(template: )?text:( ?\d+:)*( executing "text" at)? ?`)

// sample is an attempt whose fields have their greatest lengths. A template that slices a field beyond its end then fails in
// every run.
var sample = func() Filler {
	name, at := strings.Repeat("a", job.MaxNameLength), Instant{time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)}
	return Filler{
		Fields: Fields{
			Job: name, Run: name + "/" + at.String(), Slot: at, Attempt: 1, Token: 1, Key: strings.Repeat("a", 256), Deadline: at,
		},
		Resolve: func(string) (string, error) { return "value", nil },
	}
}()
