package api_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/docpage"
)

var update = flag.Bool("update", false, "write the generated part of docs/reference/api.md")

// document has the parts of an OpenAPI document that the reference page uses.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	Summary    string `json:"summary"`
	Parameters []struct {
		Name, In, Description string
		Schema                schema
	} `json:"parameters"`
	RequestBody body            `json:"requestBody"` //nolint:tagliatelle // OpenAPI spells it so
	Responses   map[string]body `json:"responses"`
}

type body struct {
	Content map[string]struct{ Schema schema } `json:"content"`
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"` // a name, or a list of names
	Format      string            `json:"format"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Enum        []any             `json:"enum"`
	AnyOf       []schema          `json:"anyOf"`
	OneOf       []schema          `json:"oneOf"` //nolint:tagliatelle // OpenAPI spells it so
}

// TestAPIReference compares the reference page of the HTTP API with the OpenAPI document.
func TestAPIReference(t *testing.T) {
	srv := serve(t, newFake().backend())
	var doc document
	if err := json.Unmarshal([]byte(ask(t, srv, "GET", "/v1/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString("## Operations\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			describeOperation(&page, strings.ToUpper(method)+" "+path, doc.Paths[path][method])
		}
	}
	page.WriteString("\n## Objects\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		describeObject(&page, name, doc.Components.Schemas[name])
	}
	docpage.Check(t, "../../docs/reference/api.md", "api", page.String(), *update)
}

func describeOperation(page *strings.Builder, name string, op operation) {
	fmt.Fprintf(page, "\n### `%s`\n\n%s.\n\n", name, strings.TrimSuffix(op.Summary, "."))
	if len(op.Parameters) > 0 {
		page.WriteString("| parameter | in | type | meaning |\n|---|---|---|---|\n")
		for _, p := range op.Parameters {
			fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", p.Name, p.In, p.Schema.kind(), cell(p.Description))
		}
		page.WriteString("\n")
	}
	if kind := op.RequestBody.kind(); kind != "" {
		fmt.Fprintf(page, "- Body: %s\n", kind)
	}
	var failures []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if status < "400" {
			fmt.Fprintf(page, "- %s: %s\n", status, cmp.Or(op.Responses[status].kind(), "no body"))
		} else {
			failures = append(failures, status)
		}
	}
	fmt.Fprintf(page, "- Errors: %s\n", strings.Join(failures, ", "))
}

func describeObject(page *strings.Builder, name string, s schema) {
	if len(s.Properties) == 0 {
		return
	}
	fmt.Fprintf(page, "\n### %s\n\n| field | type | meaning |\n|---|---|---|\n", name)
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[field]
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", field, p.kind(), cell(p.Description))
	}
}

// cell puts a text on one line, for a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(text)
}

func (b body) kind() string {
	media := slices.Sorted(maps.Keys(b.Content))
	switch {
	case len(media) == 0:
		return ""
	case media[0] != "application/json":
		return fmt.Sprintf("`%s`", media[0])
	}
	return b.Content[media[0]].Schema.kind()
}

// kind returns the type of a value, with a link to the table of that type.
func (s schema) kind() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case len(s.AnyOf)+len(s.OneOf) > 0:
		var kinds []string
		for _, one := range append(s.AnyOf, s.OneOf...) {
			kinds = append(kinds, one.kind())
		}
		return strings.Join(kinds, " or ")
	case len(s.Enum) > 0:
		var values []string
		for _, value := range s.Enum {
			values = append(values, fmt.Sprint(value))
		}
		return strings.Join(values, " or ")
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.Format == "date-time":
		return "time"
	}
	switch kind := s.Type.(type) {
	case string:
		return kind
	case []any:
		return fmt.Sprint(kind[0])
	}
	return "JSON"
}
