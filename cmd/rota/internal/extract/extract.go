package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"k8s.io/client-go/util/jsonpath"
)

// Printer prints parts of a JSON document.
type Printer interface {
	// Print writes the parts of doc. It returns an error if doc does not have what the expression asks for.
	Print(to io.Writer, doc []byte) error
}

// Forms lists the formats that Parse accepts, as people write them.
func Forms() []string {
	return []string{"name", "jsonpath=…", "go-template=…", "custom-columns=…"}
}

// Parse returns the Printer for a format such as jsonpath={.items[*].name}. It returns nil without an error for a format that is
// not one of Forms.
func Parse(format string) (Printer, error) {
	if format == "name" {
		return names{}, nil
	}
	kind, expr, given := strings.Cut(format, "=")
	switch kind {
	case "jsonpath", "go-template", "custom-columns":
	default:
		return nil, nil
	}
	if !given || strings.TrimSpace(expr) == "" {
		return nil, fmt.Errorf("%s needs an expression: %s", kind, examples[kind])
	}
	var p Printer
	var err error
	switch kind {
	case "jsonpath":
		p, err = parsePath(expr)
	case "go-template":
		p, err = parseTemplate(expr)
	default:
		p, err = parseColumns(expr)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; for example %s", err, examples[kind])
	}
	return p, nil
}

var examples = map[string]string{
	"jsonpath":       "jsonpath='{.items[*].name}'",
	"go-template":    "go-template='{{range .items}}{{.name}}{{\"\\n\"}}{{end}}'",
	"custom-columns": "custom-columns=NAME:.name,STATE:.state",
}

// names prints the name of each element, one per line.
type names struct{}

func (names) Print(to io.Writer, doc []byte) error {
	d, err := read(doc)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, item := range d.items {
		name := nameOf(item)
		if name == "" {
			return errors.New("nothing here has a name: leave -o name out")
		}
		fmt.Fprintln(&out, name)
	}
	_, err = to.Write(out.Bytes())
	return err
}

// path prints the values that a JSONPath expression finds, as kubectl does: without a line end of its own.
type path struct{ *jsonpath.JSONPath }

func parsePath(expr string) (Printer, error) {
	p, err := compile(expr)
	return path{p}, err
}

func compile(expr string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(true)
	if err := p.Parse(relaxed(expr)); err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", expr, err)
	}
	return p, nil
}

// relaxed completes an expression that lacks its braces or its leading dot: items[0].name becomes {.items[0].name}.
func relaxed(expr string) string {
	expr = strings.TrimSpace(expr)
	if strings.Contains(expr, "{") {
		return expr
	}
	if !strings.HasPrefix(expr, ".") && !strings.HasPrefix(expr, "[") && !strings.HasPrefix(expr, "$") {
		expr = "." + expr
	}
	return "{" + expr + "}"
}

func (p path) Print(to io.Writer, doc []byte) error {
	d, err := read(doc)
	if err != nil {
		return err
	}
	return execute(to, "jsonpath", d, p.Execute)
}

// goTemplate executes a template of the Go language.
type goTemplate struct{ *template.Template }

func parseTemplate(text string) (Printer, error) {
	t, err := template.New("output").Funcs(template.FuncMap{"json": asJSON}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("go-template: %w", err)
	}
	return goTemplate{t}, nil
}

func (t goTemplate) Print(to io.Writer, doc []byte) error {
	d, err := read(doc)
	if err != nil {
		return err
	}
	return execute(to, "go-template", d, t.Execute)
}

// execute writes the output of an expression only if all of it succeeds.
func execute(to io.Writer, kind string, d document, do func(io.Writer, any) error) error {
	var out bytes.Buffer
	if err := do(&out, d.root); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	_, err := to.Write(out.Bytes())
	return err
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
