package api

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// spelling is how a value of a request may be written besides the one way in which it is checked, stored and shown. A body is
// respelled before it is checked, so that a mistake in it is told in the same words, however it was written.
type spelling struct {
	also    []string                              // further JSON types that the value may have
	respell func(json.RawMessage) json.RawMessage // makes a value that is no object and no list what it stands for; nil: itself
	members map[string]spelling                   // of an object
	each    *spelling                             // of each value of an object or list
}

var (
	word      = spelling{also: []string{"number", "boolean"}, respell: quoted}
	words     = spelling{each: &word}
	oneOrMore = spelling{also: []string{"string"}, respell: listed}
)

// ofJob are the spellings that a job file has: what can be put into one can be put to the API.
var ofJob = spelling{members: map[string]spelling{
	"schedule": oneOrMore,
	"at":       oneOrMore,
	"exclude":  oneOrMore,
	"limits":   oneOrMore,
	"workers":  words,
	"notify":   {each: &spelling{members: map[string]spelling{"when": oneOrMore}}},
	"command":  words,
	"http": {members: map[string]spelling{
		"headers": words,
		"expect":  {also: []string{"integer"}, respell: listed},
	}},
	"env":       words,
	"resources": {members: map[string]spelling{"cpu": {also: []string{"number"}, respell: quoted}}},
}}

// listed makes a list of one.
func listed(raw json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, raw...), ']')
}

// quoted makes a text of a number, digit by digit, or of a boolean.
func quoted(raw json.RawMessage) json.RawMessage {
	if raw[0] == '"' {
		return raw
	}
	return append(append([]byte{'"'}, raw...), '"')
}

// plain respells what was written otherwise. What cannot be read, and what is spelt plainly, is returned as it is.
func (s spelling) plain(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == 'n': // null is nothing, however it would be written
		return raw
	case raw[0] == '{':
		return s.object(raw)
	case raw[0] == '[':
		return s.list(raw)
	case s.respell != nil:
		return s.respell(raw)
	}
	return raw
}

func (s spelling) object(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	changed := false
	for name, value := range object {
		member, ok := s.members[name]
		if s.each != nil {
			member, ok = *s.each, true
		}
		if ok {
			object[name] = member.plain(value)
			changed = changed || !bytes.Equal(value, object[name])
		}
	}
	return encoded(raw, object, changed)
}

func (s spelling) list(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if s.each == nil || json.Unmarshal(raw, &list) != nil {
		return raw
	}
	changed := false
	for i, value := range list {
		list[i] = s.each.plain(value)
		changed = changed || !bytes.Equal(value, list[i])
	}
	return encoded(raw, list, changed)
}

// encoded is the JSON of v, or raw if that says the same. What is within stays byte for byte, but for white space.
func encoded(raw json.RawMessage, v any, changed bool) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !changed || enc.Encode(v) != nil {
		return raw
	}
	return bytes.TrimSpace(b.Bytes())
}

// middleware respells the bodies of an operation, and remembers what is given twice in one, which is not seen later on.
func (s spelling) middleware(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	if body, err := io.ReadAll(r.Body); err == nil { // takeBody has it all
		if place := twice(body); place != "" {
			ctx = huma.WithValue(ctx, twiceKey{}, "body."+place)
		}
		r.Body = io.NopCloser(bytes.NewReader(s.plain(body)))
	}
	next(ctx)
}

// describe adds the spellings to the schema of what is read. They are for readers of the document: what is checked is plain.
func (s spelling) describe(registry huma.Registry, schema *huma.Schema) {
	if schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if len(s.also) > 0 {
		types := append([]string{schema.Type}, s.also...)
		if schema.Nullable {
			types = append(types, "null")
		}
		if schema.Items != nil {
			schema.Format = schema.Items.Format
		}
		schema.Extensions = map[string]any{"type": types}
	}
	for name, member := range s.members {
		member.describe(registry, schema.Properties[name])
	}
	if s.each == nil {
		return
	}
	if schema.Items != nil {
		s.each.describe(registry, schema.Items)
	} else if values, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		s.each.describe(registry, values)
	}
}
