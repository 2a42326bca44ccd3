package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Schema returns the JSON Schema (draft 2020-12) of job files, for editors. It accepts every file that ParseJobs accepts. It
// refuses every mistake that a schema can express without arithmetic.
func Schema() []byte {
	schema := object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "rota job file",
		"type":                 "object",
		"additionalProperties": false,
		"anyOf":                requireOneOf("jobs", "limits", "notifiers", "calendars", "hooks"),
		"dependentRequired":    object{"defaults": []string{"jobs"}},
		"properties": object{
			"version":   object{"const": 1, "description": "The version of this format."},
			"defaults":  described(mappingSchema(defaultKeys.keys(), nil), "What the jobs of this file have in common."),
			"jobs":      described(definitionsOf(jobSchema(jobKeys.keys()), job.AdHoc), "Jobs by name."),
			"notifiers": described(namedBy(ref("notifier")), "Notifiers by name. Jobs name those that report about them."),
			"hooks":     described(namedBy(hookSchema()), "Hooks by name. A signed request starts the job of a hook."),
			"limits":    described(namedBy(limitSchema()), "Cluster-wide limits by name."),
			"calendars": described(namedBy(calendarSchema()), "Calendars by name. Jobs name the one on whose days they run."),
		},
		"$defs": shared,
	}
	return encoded(schema)
}

// RequestSchema returns the JSON Schema of one definition in a request to the API. kind is "job" or "limit". The schema has no
// reference to another schema.
func RequestSchema(kind string) []byte {
	switch kind {
	case "job":
		keys := jobKeys.keys()
		for i := range keys {
			if keys[i].request != nil {
				keys[i].schema = keys[i].request
			}
		}
		return encoded(inlined(jobSchema(keys)))
	case "limit":
		return encoded(inlined(limitSchema()))
	}
	return nil
}

func encoded(schema any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil { // the encoding of a schema cannot fail
		return nil
	}
	return b.Bytes()
}

const (
	namePattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
	ratePattern = "^[1-9][0-9]{0,5}/[smh]$"
	sizePattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)[KMGT]iB?$`
	cpuPattern  = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)m?$`
	datePattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
	timePattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T"
)

// shared has the schemas that other schemas refer to.
var shared = object{
	"duration": object{"type": "string", "pattern": job.DurationPattern, "examples": []string{"30s", "10m", "1h30m"}},
	"rate":     object{"type": "string", "pattern": ratePattern, "examples": []string{"10/s", "100/m", "5/h"}},
	"word":     object{"type": []string{"string", "number", "boolean"}},
	"words":    object{"type": "object", "additionalProperties": ref("word"), "maxProperties": maxEntries},
	"notifier": described(mappingSchema(notifierKeys.keys(), nil),
		"The service that gets messages, and the occasions that it reports."),
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

// inlined returns a schema in which each reference is replaced by the schema that it refers to.
func inlined(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		if name, ok := v["$ref"].(string); ok {
			maps.Copy(out, inlined(shared[strings.TrimPrefix(name, "#/$defs/")]).(object))
		}
		for key, value := range v {
			if key != "$ref" {
				out[key] = inlined(value)
			}
		}
		if _, property := out["enum"].(object); out["enum"] != nil && !property { // a mapping may have a property of this name
			out["type"] = "string" // generators of clients need a type
		}
		return out
	case []object:
		out := make([]any, len(v))
		for i := range v {
			out[i] = inlined(v[i])
		}
		return out
	}
	return v
}

func jobSchema(keys []Key) object {
	return mappingSchema(keys, object{
		"oneOf": requireOneOf(actions...),
		"not": object{"anyOf": []object{
			{"required": []string{"schedule", "every"}},
			{"required": []string{"schedule", "at"}},
			{"required": []string{"every", "at"}},
			{"required": []string{"after", "schedule"}},
			{"required": []string{"after", "every"}},
			{"required": []string{"after", "at"}},
		}},
	})
}

func limitSchema() object { return mappingSchema(limitKeys.keys(), object{"minProperties": 1}) }

func calendarSchema() object {
	return mappingSchema(calendarKeys.keys(), object{"anyOf": requireOneOf("weekdays", "dates", "ics")})
}

func hookSchema() object { return mappingSchema(topHookKeys.keys(), nil) }

func requireOneOf(names ...string) []object {
	list := make([]object, len(names))
	for i, name := range names {
		list[i] = object{"required": []string{name}}
	}
	return list
}

// mappingSchema returns the schema of a mapping with these keys. It adds the keywords in more.
func mappingSchema(keys []Key, more object) object {
	properties := object{}
	var required []string
	for i := range keys {
		properties[keys[i].Name] = keys[i].described()
		if keys[i].required {
			required = append(required, keys[i].Name)
		}
	}
	schema := object{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	maps.Copy(schema, more)
	return schema
}

// described returns the JSON Schema of the key's value.
func (k *Key) described() object {
	schema := described(k.schema, k.Doc)
	if k.standard != nil {
		schema["default"] = k.standard
	}
	return schema
}

// described returns a copy of a schema with a description.
func described(schema object, description string) object {
	schema = maps.Clone(schema)
	schema["description"] = description
	return schema
}

// namedBy returns the schema of a mapping of names to values. item is the schema of each value.
func namedBy(item object) object { return definitionsOf(item, "") }

// definitionsOf is namedBy, except that the name reserved is not allowed.
func definitionsOf(item object, reserved string) object {
	names := object{"pattern": namePattern, "maxLength": job.MaxNameLength}
	if reserved != "" {
		names["not"] = object{"const": reserved}
	}
	return object{"type": "object", "additionalProperties": item, "propertyNames": names}
}
