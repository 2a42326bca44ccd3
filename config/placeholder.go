package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"go.yaml.in/yaml/v4"
)

// placeholder matches a reference or a template field. A worker replaces both.
var placeholder = regexp.MustCompile(`\$\{(env|file):[^}]*\}|\{\{[^}]*\}\}`)

var (
	referenceStart = regexp.MustCompile(`(?i)\$\{(env|file):`)
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	templateStart  = regexp.MustCompile(`\{\{-?\s*\.?(\w*)`)
)

// templateFields are the fields that a template in an HTTP job may name.
var templateFields = []string{"Job", "Run", "Slot", "Attempt", "Token", "Params"}

// references checks the form of each ${env:NAME} and ${file:/path}. Any other ${ is not rota's and passes to the job.
func (r *reader) references(n *yaml.Node, what, text string) {
	for _, at := range referenceStart.FindAllStringSubmatchIndex(text, -1) {
		kind, rest := text[at[2]:at[3]], text[at[1]:]
		name, _, closed := strings.Cut(rest, "}")
		switch {
		case kind != strings.ToLower(kind):
			r.fail(n, fmt.Sprintf("write ${%s:…}", strings.ToLower(kind)), "%s has an unknown reference %s", what, quote("${"+kind+":"))
		case !closed:
			r.fail(n, "such as ${env:NAME} or ${file:/run/secrets/name}", "%s has a reference without its closing brace", what)
		case kind == "env" && !variableName.MatchString(name):
			r.fail(n, "such as ${env:BILLING_TOKEN}", "%s refers to %s, which is not a variable's name", what, quote(name))
		case kind == "file" && !strings.HasPrefix(name, "/"):
			r.fail(n, "such as ${file:/run/secrets/name}", "%s refers to the file %s, which is not an absolute path", what, quote(name))
		}
	}
}

// placeholders checks references and templates.
func (r *reader) placeholders(n *yaml.Node, what, text string) {
	before := r.mistakes()
	r.references(n, what, text)
	r.fields(n, what, text)
	r.hyphens(n, what, text)
	if r.mistakes() > before {
		return // the check of the template would report the same mistakes again
	}
	for _, output := range fill.Outputs(text) {
		r.outputs = append(r.outputs, outputUse{use{r, n, output.Job}, output.Name})
	}
	r.useParams(n, text)
	if err := fill.Check(text); err != nil {
		r.fail(n, "a template may name "+oneOf(dotted(templateFields)), "%s has a template that fails in every run: %v", what, err)
	}
}

// fields checks the names in templates. Unlike package template, it can suggest the correct names.
func (r *reader) fields(n *yaml.Node, what, text string) {
	for _, at := range templateStart.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		switch {
		case !strings.Contains(text[at[1]:], "}}"):
			r.fail(n, "such as {{ .Slot }}", "%s has a template without its closing braces", what)
		case strings.HasSuffix(text[at[0]:at[2]], ".") && !slices.Contains(templateFields, name):
			hint := didYouMean("."+name, dotted(templateFields), "use "+oneOf(dotted(templateFields)))
			r.fail(n, hint, "%s has an unknown template field %s", what, quote("."+name))
		}
	}
}

func dotted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "." + name
	}
	return out
}

// placeholdersIn checks every text in a tree. It also reports wrong references and fields in keys, although a worker replaces
// nothing in keys.
func (r *reader) placeholdersIn(n *yaml.Node, what string) {
	if n.Kind == yaml.ScalarNode {
		r.placeholders(n, what, n.Value)
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			r.references(c, what, c.Value)
			r.fields(c, what, c.Value)
			continue
		}
		r.placeholdersIn(c, what)
	}
}
