package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/budget"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// fields are the fields that templates may use. Everything in them is signed.
type fields struct {
	ID   string // of the delivery
	Body any    // the body as JSON; nil if it is none
}

// object and list print as JSON. Package template would print them in the notation of Go.
type (
	object map[string]any
	list   []any
)

func (o object) String() string { return text(map[string]any(o)) }
func (l list) String() string   { return text([]any(l)) }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // v was read from JSON
		return ""
	}
	return string(b)
}

// Params fills in the templates of parameters. The error is a *Refusal that names the parameter and no value.
func Params(templates map[string]string, id string, body []byte) (map[string]string, error) {
	if len(templates) == 0 {
		return nil, nil
	}
	in := fields{ID: id}
	isJSON := decode(body, &in.Body) == nil
	params := make(map[string]string, len(templates))
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		t, limit, err := parseTemplate(templates[name])
		if err != nil {
			return nil, refuse(http.StatusUnprocessableEntity, "parameter %s: its template is wrong: %v", name, err)
		}
		var out bounded
		err = t.Execute(limit.Writer(&out), in)
		switch value := out.String(); {
		case err != nil && !isJSON:
			return nil, refuse(http.StatusUnprocessableEntity, "parameter %s: the body is no JSON", name)
		case err != nil:
			return nil, refuse(http.StatusUnprocessableEntity, "parameter %s: %s", name, reason(err))
		case strings.Contains(value, noValue):
			return nil, refuse(http.StatusUnprocessableEntity, "parameter %s: the body has no value for it", name)
		default:
			params[name] = value
		}
	}
	return params, nil
}

// noValue is what package template writes for a value that does not exist.
const noValue = "<no value>"

// decode reads JSON. Numbers keep their spelling. A key whose value is null counts as absent. A body that is not UTF-8 is refused,
// because the decoder would replace its bytes.
func decode(body []byte, to *any) error {
	if !utf8.Valid(body) {
		return errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	*to = printable(v)
	return nil
}

func printable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := make(object, len(v))
		for name, value := range v {
			if value != nil {
				o[name] = printable(value)
			}
		}
		return o
	case []any:
		l := make(list, len(v))
		for i := range v {
			l[i] = printable(v[i])
		}
		return l
	}
	return v
}

// CheckTemplate returns an error if a template cannot be used. literal is the value of a text without template actions; ok is
// false if the value depends on the delivery.
func CheckTemplate(s string) (literal string, ok bool, err error) {
	t, _, err := parseTemplate(s)
	if err != nil {
		return "", false, errors.New(reason(err))
	}
	for _, n := range t.Root.Nodes {
		plain, ok := n.(*parse.TextNode)
		if !ok {
			return "", false, nil
		}
		literal += string(plain.Text)
	}
	return literal, true, nil
}

// maxWork is how many bytes the functions of a template may make, while they make one value.
const maxWork = 4 << 20

// parseTemplate returns a template that can be executed once, and what it may take. It has no loops: see check.
func parseTemplate(s string) (*template.Template, *budget.Budget, error) {
	limit := budget.New(maxWork, 0)
	t, err := template.New("text").Option("missingkey=error").Funcs(limit.Functions()).Parse(s)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range t.Templates() {
		if one != t {
			return nil, nil, errors.New("it defines another template")
		}
	}
	if t.Tree == nil { // the text is empty
		t.Tree = &parse.Tree{Root: &parse.ListNode{}}
	}
	return t, limit, check(t.Root, true)
}

// check refuses loops, because a body could make them long, and fields that do not exist. top is false within {{ with }}, where a
// field is one of another value.
func check(n parse.Node, top bool) error {
	switch n := n.(type) {
	case *parse.RangeNode, *parse.TemplateNode:
		return errors.New("it has a loop or a call of a template")
	case *parse.IfNode:
		return errors.Join(check(n.Pipe, top), check(n.List, top), check(n.ElseList, top))
	case *parse.WithNode:
		return errors.Join(check(n.Pipe, top), check(n.List, false), check(n.ElseList, top))
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, c := range n.Nodes {
			if err := check(c, top); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		return check(n.Pipe, top)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			for _, a := range c.Args {
				if err := check(a, top); err != nil {
					return err
				}
			}
		}
	case *parse.FieldNode:
		if top && !slices.Contains([]string{"Body", "ID"}, n.Ident[0]) {
			return errors.New("it has the unknown field ." + n.Ident[0] + ": use .Body or .ID")
		}
	}
	return nil
}

// errorPrefix matches the beginning of the errors of package template.
var errorPrefix = regexp.MustCompile(`^(template: )?text:( ?\d+:)*( executing "text" at)? ?`)

func reason(err error) string {
	return strings.Replace(errorPrefix.ReplaceAllString(err.Error(), ""), "unexpected EOF", "{{ end }} is missing", 1)
}

// bounded is a text that is not longer than the value of a parameter.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > job.MaxParamValue {
		return 0, errors.New("the value is too long")
	}
	return b.Builder.Write(p)
}
