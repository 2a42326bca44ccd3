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

// Printer prints parts of JSON documents.
type Printer struct {
	print  printFunc
	headed bool // the first line is a header
	bare   bool // the first line is left out
}

// printFunc prints parts of a document. After an error, nobody sees what it has written.
type printFunc func(to io.Writer, d document) error

// Forms lists the formats that Parse accepts, as people write them.
func Forms() []string {
	return []string{"name", "jsonpath=…", "go-template=…", "custom-columns=…"}
}

// kinds has the formats with an expression.
var kinds = map[string]struct {
	parse   func(expr string) (printFunc, error)
	example string
}{
	"jsonpath":       {parsePath, "jsonpath='{.items[*].name}'"},
	"go-template":    {parseTemplate, "go-template='{{range .items}}{{.name}}{{\"\\n\"}}{{end}}'"},
	"custom-columns": {parseColumns, "custom-columns=NAME:.name,STATE:.state"},
}

// Parse returns the Printer for a format such as jsonpath={.items[*].name}. It returns nil without an error for a format that is
// not one of Forms.
func Parse(format string) (*Printer, error) {
	if format == "name" {
		return &Printer{print: names}, nil
	}
	name, expr, _ := strings.Cut(format, "=")
	kind, known := kinds[name]
	if !known {
		return nil, nil
	}
	if strings.TrimSpace(expr) == "" {
		return nil, fmt.Errorf("%s needs an expression: %s", name, kind.example)
	}
	p, err := kind.parse(expr)
	if err != nil {
		return nil, fmt.Errorf("%w; for example %s", err, kind.example)
	}
	return &Printer{print: p, headed: name == "custom-columns"}, nil
}

// WithoutHeader returns a Printer that leaves out the header of custom-columns, for rows that follow others. They are at least as
// wide as the header. p may have any format.
func WithoutHeader(p *Printer) *Printer { return &Printer{p.print, p.headed, p.headed} }

// Print writes the parts of doc. If doc does not have what the expression asks for, it writes nothing and returns an error.
func (p *Printer) Print(to io.Writer, doc []byte) error {
	d, err := read(doc)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := p.print(&out, d); err != nil {
		return err
	}
	text := out.Bytes()
	if p.bare {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	_, err = to.Write(text)
	return err
}

// names prints the name of each element, one per line.
func names(to io.Writer, d document) error {
	for _, item := range d.items {
		name := nameOf(item)
		if name == "" {
			return errors.New("nothing here has a name: leave -o name out")
		}
		fmt.Fprintln(to, name)
	}
	return nil
}

// parsePath returns a function that prints the values that a JSONPath expression finds, as kubectl does: without a line end of its
// own.
func parsePath(expr string) (printFunc, error) {
	p, err := compile(expr)
	if err != nil {
		return nil, err
	}
	return executing("jsonpath", p.Execute), nil
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

// parseTemplate returns a function that executes a template of the Go language.
func parseTemplate(text string) (printFunc, error) {
	t, err := template.New("output").Funcs(template.FuncMap{"json": asJSON}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("go-template: %w", err)
	}
	return executing("go-template", t.Execute), nil
}

func executing(kind string, do func(io.Writer, any) error) printFunc {
	return func(to io.Writer, d document) error {
		if err := do(to, d.root); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		return nil
	}
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
