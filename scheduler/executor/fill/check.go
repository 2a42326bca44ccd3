package fill

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Check says what of a text would fail in every run, whatever its fields and references hold. It is told without the text's
// name.
func Check(s string) error {
	t, err := parseText("text", s)
	if err == nil && t.template != nil && !repeats(t.template) {
		err = t.write(io.Discard, example)
	}
	if err != nil {
		reason := where.ReplaceAllString(err.Error(), "")
		return &Mistake{strings.Replace(reason, "unexpected EOF", "{{ end }} is missing", 1)}
	}
	return nil
}

// where is how errors of templates begin.
var where = regexp.MustCompile(`^(template: )?text:( ?\d+:)*( executing "text" at)? ?`)

// example is an attempt. Its texts are as long as they can be: a template that cuts them does so in every run.
var example = func() Filler {
	name, at := strings.Repeat("a", job.MaxNameLength), Instant{time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)}
	return Filler{
		Fields: Fields{
			Job: name, Run: name + "/" + at.String(), Slot: at, Attempt: 1, Token: 1, Key: strings.Repeat("a", 256), Deadline: at,
		},
		Resolve: func(string) (string, error) { return "value", nil },
	}
}()

// repeats says whether a template can go on for long, as with {{ range 1000000000 }}: that is left to the worker.
func repeats(t *template.Template) bool {
	return slices.ContainsFunc(t.Templates(), func(t *template.Template) bool { return t.Tree != nil && loops(t.Root) })
}

func loops(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.RangeNode, *parse.TemplateNode:
		return true
	case *parse.IfNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.WithNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.ListNode:
		return n != nil && slices.ContainsFunc(n.Nodes, loops)
	}
	return false
}
