package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// openAPI has the parts of an OpenAPI document that the view api shows.
type openAPI struct {
	Paths      map[string]map[string]*apiOperation `json:"paths"`
	Components struct {
		Schemas map[string]*apiSchema `json:"schemas"`
	} `json:"components"`
}

type apiOperation struct {
	ID          string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Parameters  []apiParameter        `json:"parameters"`
	RequestBody apiBody               `json:"requestBody"` //nolint:tagliatelle // OpenAPI spells it so
	Responses   map[string]apiContent `json:"responses"`
}

type apiParameter struct {
	Name, In, Description string
	Required              bool
	Schema                apiSchema
}

type apiBody struct {
	Content map[string]struct{ Schema apiSchema } `json:"content"`
}

type apiContent struct {
	Description string `json:"description"`
	apiBody
}

type apiSchema struct {
	Ref         string                `json:"$ref"`
	Type        any                   `json:"type"` // a name, or a list of names
	Format      string                `json:"format"`
	Description string                `json:"description"`
	Default     any                   `json:"default"`
	Enum        []any                 `json:"enum"`
	Properties  map[string]*apiSchema `json:"properties"`
	Required    []string              `json:"required"`
	Items       *apiSchema            `json:"items"`
	AnyOf       []apiSchema           `json:"anyOf"`
	OneOf       []apiSchema           `json:"oneOf"` //nolint:tagliatelle // OpenAPI spells it so
	Minimum     *float64              `json:"minimum"`
	Maximum     *float64              `json:"maximum"`
}

// apiData is the data of the view api.
type apiData struct {
	Groups  []apiGroup
	Schemas []apiType
	Count   int
}

// apiGroup has the operations whose paths begin with the same word. Words with a single path are in the group cluster.
type apiGroup struct {
	Name  string
	Calls []apiCall
}

// apiCall is one operation.
type apiCall struct {
	ID, Method, Path, Summary string
	Parameters                []apiField
	Body                      apiKind
	Answers                   []apiAnswer
	Errors                    string // statuses
	Example                   string // a command
}

// apiField is a parameter, or a property of a type.
type apiField struct {
	Name, In, Words string
	Kind            apiKind
	Required        bool
}

// apiKind is a type in words; Link leads to its description, and is empty for simple types.
type apiKind struct{ Before, Name, Link, After string }

// apiAnswer is an answer of success.
type apiAnswer struct {
	Status string
	Kind   apiKind
}

// apiType is a schema with its fields.
type apiType struct {
	Name, Words string
	Fields      []apiField
}

// reference keeps the data of the view api. The document does not change while the process runs.
type reference struct {
	mu   sync.Mutex
	data *apiData // guarded by mu: nil before the first request
}

// api lists all operations of the HTTP API, from its OpenAPI document.
func (s *site) api(r *http.Request) (*page, error) {
	s.reference.mu.Lock()
	defer s.reference.mu.Unlock()
	if s.reference.data == nil {
		doc, err := get[openAPI](s, r, "/v1/openapi.json")
		if err != nil {
			return nil, err
		}
		s.reference.data = referenceOf(&doc)
	}
	return &page{View: "api", Title: "API", Data: s.reference.data}, nil
}

// referenceOf sorts the operations by path, and the types by name.
func referenceOf(doc *openAPI) *apiData {
	d := &apiData{}
	wordOf := func(path string) string {
		word, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
		return word
	}
	paths := map[string]int{} // how many paths begin with a word
	for path := range doc.Paths {
		paths[wordOf(path)]++
	}
	groups := map[string]*apiGroup{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		word := wordOf(path)
		if paths[word] == 1 {
			word = "cluster"
		}
		if groups[word] == nil {
			groups[word] = &apiGroup{Name: word}
		}
		for _, method := range []string{"get", "put", "post", "delete"} {
			if op := doc.Paths[path][method]; op != nil {
				groups[word].Calls = append(groups[word].Calls, callOf(strings.ToUpper(method), path, op))
				d.Count++
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(groups)) {
		d.Groups = append(d.Groups, *groups[word])
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		schema := doc.Components.Schemas[name]
		t := apiType{Name: name, Words: schema.Description}
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			if p := schema.Properties[field]; field != "$schema" {
				t.Fields = append(t.Fields, apiField{
					Name: field, Words: wordsOf(p, ""), Kind: kindOf(p), Required: slices.Contains(schema.Required, field),
				})
			}
		}
		d.Schemas = append(d.Schemas, t)
	}
	return d
}

func callOf(method, path string, op *apiOperation) apiCall {
	c := apiCall{ID: op.ID, Method: method, Path: path, Summary: op.Summary}
	for i := range op.Parameters {
		p := &op.Parameters[i]
		c.Parameters = append(c.Parameters, apiField{
			Name: p.Name, In: p.In, Required: p.Required, Kind: kindOf(&p.Schema), Words: wordsOf(&p.Schema, p.Description),
		})
	}
	for _, content := range op.RequestBody.Content {
		c.Body = kindOf(&content.Schema)
	}
	var errors []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		answer := op.Responses[status]
		if status >= "400" {
			errors = append(errors, status)
			continue
		}
		a := apiAnswer{Status: status, Kind: apiKind{Name: "no content"}}
		for kind, content := range answer.Content {
			if a.Kind = kindOf(&content.Schema); kind != "application/json" {
				a.Kind = apiKind{Name: kind}
			}
		}
		c.Answers = append(c.Answers, a)
	}
	c.Errors = strings.Join(errors, ", ")
	c.Example = exampleOf(&c)
	return c
}

// exampleOf returns a command that performs the operation.
func exampleOf(c *apiCall) string {
	var b strings.Builder
	b.WriteString(`curl -H "Authorization: Bearer $TOKEN"`)
	if c.Method != http.MethodGet {
		b.WriteString(" -X " + c.Method)
	}
	if c.Body.Name != "" {
		b.WriteString(` -H "Content-Type: application/json" -d @body.json`)
	}
	query := ""
	for i := range c.Parameters {
		if p := &c.Parameters[i]; p.In == "query" && p.Required {
			query = strings.TrimPrefix(query+"&"+p.Name+"=…", "&")
		}
	}
	target := "$ROTA_SERVER" + c.Path
	if query != "" {
		target += "?" + query
	}
	return b.String() + ` "` + target + `"`
}

// kindOf returns a schema in words.
func kindOf(s *apiSchema) apiKind {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return apiKind{Name: name, Link: "#type-" + name}
	case len(s.AnyOf)+len(s.OneOf) > 0:
		all := slices.Concat(s.AnyOf, s.OneOf)
		first := kindOf(&all[0])
		for i := range all[1:] {
			first.After += " or " + kindOf(&all[i+1]).Name
		}
		return first
	case s.Items != nil:
		k := kindOf(s.Items)
		k.Before = "list of " + k.Before
		return k
	}
	var names []string
	switch t := s.Type.(type) {
	case string:
		names = []string{t}
	case []any:
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
	}
	text := cmp.Or(strings.Join(names, " or "), "any value")
	if s.Format == "date-time" {
		text = strings.Replace(text, "string", "time, RFC 3339", 1)
	}
	return apiKind{Name: text}
}

// wordsOf describes a value: what it is, its default and its range.
func wordsOf(s *apiSchema, description string) string {
	words := []string{}
	if text := cmp.Or(description, s.Description); text != "" {
		words = append(words, strings.TrimSuffix(text, "."))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		words = append(words, "one of "+strings.Join(values, ", "))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		words = append(words, fmt.Sprintf("from %v to %v", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		words = append(words, fmt.Sprintf("at least %v", *s.Minimum))
	}
	if text, err := json.Marshal(s.Default); err == nil && s.Default != nil {
		words = append(words, "default "+string(text))
	}
	return strings.Join(words, "; ")
}
