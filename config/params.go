package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

const paramNamePattern = "^[A-Za-z][A-Za-z0-9_-]{0,62}$"

// paramKeys are the keys of a parameter.
var paramKeys = tableOf(job.Param{Type: job.ParamString},
	key("description", textUpTo(maxDescription), func(p *job.Param) *string { return &p.Description },
		"The month to report", "Says what the parameter is for.", zero("No description.")),
	key("type", choiceOf(job.ParamTypes()), func(p *job.Param) *job.ParamType { return &p.Type },
		"int", "Which values are accepted: any text, whole numbers, any numbers, or true and false."),
	key("pattern", pattern, func(p *job.Param) *string { return &p.Pattern },
		`"^[0-9]{4}-[0-9]{2}$"`, "An RE2 expression that a text must match. Without ^ and $ it may match anywhere in the text.",
		zero("Any text of the type.")),
	key("enum", listOf(paramValue, inFlow), func(p *job.Param) *[]string { return &p.Enum },
		"[stage, prod]", "The values that are accepted.", zero("Any value of the type.")),
	key("min", paramBound, func(p *job.Param) **float64 { return &p.Min }, "1", "The least number.", zero("No least number.")),
	key("max", paramBound, func(p *job.Param) **float64 { return &p.Max }, "12", "The greatest number.", zero("No greatest number.")),
	key("default", paramDefault, func(p *job.Param) **string { return &p.Default },
		"stage", "The value of runs for which a client gives none, and of all scheduled runs.", zero("Such runs have no value.")),
	key("required", yesNo, func(p *job.Param) *bool { return &p.Required },
		"true", "Whether a run must have a value, given or by default.", zero("A run may have no value.")),
)

var paramValue = kind[string]{
	name: "text", limits: fmt.Sprintf("at most %d values of %d bytes", job.MaxEnum, job.MaxParamValue), schema: ref("word"),
	read: func(r *reader, n *yaml.Node, what string) string {
		text, ok := r.scalar(n, what, "a text, a number or a boolean")
		if !ok {
			return ""
		}
		return r.limited(n, what, text, job.MaxParamValue)
	},
}

var paramDefault = kind[*string]{
	name: "text", limits: fmt.Sprintf("at most %d bytes", job.MaxParamValue), schema: ref("word"),
	read: func(r *reader, n *yaml.Node, what string) *string { return new(paramValue.read(r, n, what)) },
}

var paramBound = kind[*float64]{
	name: "number", schema: object{"type": "number"},
	read: func(r *reader, n *yaml.Node, what string) *float64 {
		text, ok := r.scalar(n, what, "a number")
		if !ok {
			return nil
		}
		v, err := strconv.ParseFloat(text, 64)
		if n.Tag != "!!float" && n.Tag != "!!int" || err != nil || v-v != 0 {
			r.fail(n, "such as 1 or 0.5", "%s must be a number, not %s", what, r.kindOf(n))
			return nil
		}
		return &v
	},
}

var yesNo = kind[bool]{
	name: "boolean", schema: object{"type": "boolean"},
	read: func(r *reader, n *yaml.Node, what string) bool { return r.boolean(n, what) },
}

// pattern is the kind of a regular expression.
var pattern = kind[string]{
	name: "pattern", limits: fmt.Sprintf("at most %d bytes", job.MaxPattern),
	schema: object{"type": "string", "maxLength": job.MaxPattern},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, job.MaxPattern)
		if _, err := (&job.Param{Pattern: text}).Compile(); err != nil {
			r.fail(n, "write an RE2 expression such as ^[a-z]+$", "%s cannot be used: %v", what, err)
		}
		return text
	},
}

// params is the kind of the parameters of a job.
var params = kind[map[string]job.Param]{
	name: "mapping of parameters", limits: fmt.Sprintf("at most %d parameters", job.MaxParams), layout: eachInFlow,
	keys: paramKeys.keys(),
	schema: object{
		"type": "object", "additionalProperties": mappingSchema(paramKeys.keys(), nil), "maxProperties": job.MaxParams,
		"propertyNames": object{"pattern": paramNamePattern},
	},
	read: func(r *reader, n *yaml.Node, what string) map[string]job.Param {
		all := map[string]job.Param{}
		variables := map[string]string{}
		r.pairs(n, what, func(key, value *yaml.Node) {
			name, variable := key.Value, job.ParamVariable(key.Value)
			switch other, taken := variables[variable]; {
			case !job.IsParamName(name):
				r.fail(key, "use letters, digits, _ and -, and begin with a letter", "%s has the bad name %s", what, quote(name))
				return
			case taken:
				r.fail(key, "rename one of the two", "%s has %s and %s, and both are the variable %s", what, other, name, variable)
				return
			}
			variables[variable] = name
			if isNull(value) {
				r.fail(key, "write {} for any text", "parameter %s has no value", name)
				return
			}
			if one, ok := r.param(value, "parameter "+name); ok {
				all[name] = one
			}
		})
		return entries(r, n, what, all, job.MaxParams)
	},
}

// param reads the declaration of one parameter.
func (r *reader) param(n *yaml.Node, what string) (p job.Param, ok bool) {
	before := r.mistakes()
	if !readKeys(r, n, what, what+": ", paramKeys, nil, &p) || r.mistakes() != before {
		return p, false
	}
	numeric := p.Type == job.ParamInt || p.Type == job.ParamNumber
	for _, k := range []struct {
		name string
		fits bool
		hint string
	}{
		{"pattern", p.Type == "" || p.Type == job.ParamString, "remove it, or write type: string"},
		{"min", numeric, "remove it, or write type: int or type: number"},
		{"max", numeric, "remove it, or write type: int or type: number"},
	} {
		if given := child(n, k.name); given != nil && !k.fits {
			r.fail(keyOf(n, k.name), k.hint, "%s: %s has no effect on the type %s", what, k.name, cmp.Or(p.Type, job.ParamString))
		}
	}
	if p.Min != nil && p.Max != nil && *p.Min > *p.Max {
		r.fail(child(n, "max"), fmt.Sprintf("write %v or more", *p.Min), "%s: max %v is less than min %v", what, *p.Max, *p.Min)
	}
	if len(p.Enum) > job.MaxEnum {
		r.fail(child(n, "enum"), "use a pattern", "%s: enum has %d values, at most %d are allowed", what, len(p.Enum), job.MaxEnum)
	}
	if r.mistakes() != before {
		return p, false
	}
	rule := p
	rule.Enum = nil
	list := child(n, "enum")
	for i, value := range p.Enum {
		at := list
		if list.Kind == yaml.SequenceNode {
			at = list.Content[i]
		}
		if err := rule.Accept(value); err != nil {
			r.fail(at, "correct it, or change the rule", "%s: the value %s of enum %v", what, quote(value), err)
		} else if slices.Contains(p.Enum[:i], value) {
			r.fail(at, "remove one of the two", "%s: enum has %s twice", what, quote(value))
		}
	}
	if p.Default != nil && r.mistakes() == before {
		if err := p.Accept(*p.Default); err != nil {
			r.fail(child(n, "default"), "correct it, or change the rule", "%s: the default %s %v", what, quote(*p.Default), err)
		}
	}
	return p, r.mistakes() == before
}

// checkParams reports a template that names a parameter that the job does not declare, and a parameter for which a scheduled
// run would have no value. own is the job's mapping.
func (r *reader) checkParams(own *yaml.Node, what string, s *job.Spec) {
	declared := sortedKeys(s.Params)
	for _, u := range r.params {
		if child(child(own, "params"), u.job) != nil {
			continue
		}
		hint := didYouMean(u.job, declared, "declare it: params: {"+u.job+": {default: …}}")
		r.fail(u.node, hint, "the template reads the parameter %s, which the job does not declare", quote(u.job))
	}
	r.params = nil
	if !s.Scheduled() {
		return
	}
	for _, name := range declared {
		if p := s.Params[name]; p.Required && p.Default == nil {
			r.fail(keyOf(child(own, "params"), name), "give it a default, or remove required",
				"%s has a schedule, and no client gives its runs the required parameter %s", what, quote(name))
		}
	}
}

// paramOfTemplate matches a parameter whose name a template cannot have after a dot.
var paramOfTemplate = regexp.MustCompile(`\{\{[^}]*\.Params\.(\w+(?:-\w+)+)`)

// hyphens reports a parameter with a hyphen that a template names after a dot.
func (r *reader) hyphens(n *yaml.Node, what, text string) {
	for _, m := range paramOfTemplate.FindAllStringSubmatch(text, -1) {
		r.fail(n, fmt.Sprintf("write {{ index .Params %q }}", m[1]), "%s names the parameter %s, which has a hyphen", what, m[1])
	}
}

// useParams records the parameters that a template names.
func (r *reader) useParams(n *yaml.Node, text string) {
	if !strings.Contains(text, ".Params") {
		return
	}
	for _, name := range fill.Params(text) {
		r.params = append(r.params, use{r, n, name})
	}
}
