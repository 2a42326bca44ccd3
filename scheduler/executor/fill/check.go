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

// Check returns an error if a text would fail in every run, whatever the values of its fields and references. The error does
// not name the text.
func Check(s string) error {
	t, err := parseText("text", s)
	if err == nil && t.template != nil && !mayLoop(t.template) {
		s := sample
		s.Inputs = make(map[string]map[string]string)
		for _, o := range outputsOf(t.template) {
			if s.Inputs[o[0]] == nil {
				s.Inputs[o[0]] = make(map[string]string)
			}
			s.Inputs[o[0]][o[1]] = strings.Repeat("1", 16)
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

// mayLoop reports whether a template may run for long, as with {{ range 1000000000 }}. Check does not execute such a template.
func mayLoop(t *template.Template) bool {
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

// Parents returns the jobs whose outputs a text reads, as far as the text names them. A text with mistakes has none.
func Parents(s string) (parents []string) {
	t, err := parseText("text", s)
	if err != nil || t.template == nil {
		return nil
	}
	for _, o := range outputsOf(t.template) {
		if !slices.Contains(parents, o[0]) {
			parents = append(parents, o[0])
		}
	}
	return parents
}

// outputsOf returns the parents and the names in the calls of output whose arguments are constants.
func outputsOf(t *template.Template) (calls [][2]string) {
	var walk func(n parse.Node)
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, c := range n.Nodes {
					walk(c)
				}
			}
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.IfNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.WithNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.RangeNode:
			walk(n.Pipe)
			walk(n.List)
			walk(n.ElseList)
		case *parse.PipeNode:
			for _, c := range n.Cmds {
				walk(c)
			}
		case *parse.CommandNode:
			for _, a := range n.Args {
				walk(a)
			}
			if f, ok := n.Args[0].(*parse.IdentifierNode); ok && f.Ident == outputFunc && len(n.Args) == 3 {
				parent, ok1 := n.Args[1].(*parse.StringNode)
				name, ok2 := n.Args[2].(*parse.StringNode)
				if ok1 && ok2 {
					calls = append(calls, [2]string{parent.Text, name.Text})
				}
			}
		}
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			walk(one.Root)
		}
	}
	return calls
}
