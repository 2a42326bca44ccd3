package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// actions are the keys that define the work of a job. A job must have exactly one of them.
var actions = job.Kinds()

// ownVariables are the variables that rota sets for a job.
var ownVariables = []string{
	"ROTA_JOB", "ROTA_RUN", "ROTA_SLOT", "ROTA_ATTEMPT", "ROTA_FENCING_TOKEN", "ROTA_IDEMPOTENCY_KEY",
	"ROTA_DEADLINE", "ROTA_PAYLOAD", "TRACEPARENT",
}

// action checks that a job has exactly one action, and no key that has no effect on that action. own is the job's mapping without
// defaults.
func (r *reader) action(own, key *yaml.Node, what string, s *job.Spec) {
	var given []string
	for _, k := range actions {
		if child(own, k) != nil {
			given = append(given, k)
		}
	}
	switch {
	case len(given) == 0:
		r.failAbsent(key, actions[0], "add one of "+oneOf(actions), "%s does nothing", what)
	case len(given) > 1:
		r.fail(keyOf(own, given[1]), "keep one of them, or make two jobs",
			"%s has more than one action: %s", what, strings.Join(given, " and "))
	default:
		r.withoutEffect(own, given[0], s)
	}
}

// withoutEffect reports keys of a job that have no effect on its action. It removes those that come from defaults.
func (r *reader) withoutEffect(own *yaml.Node, action string, s *job.Spec) {
	for _, name := range job.WithoutEffect(action) {
		if child(own, name) != nil {
			r.fail(keyOf(own, name), "remove it", "%s has no effect on a job with %s", name, action)
		}
		jobKeys.unset(name, s)
	}
}

// command is the kind of a program with its arguments.
var command = kind[[]string]{
	name: "list of texts", limits: fmt.Sprintf("1 to %d arguments", maxArguments), layout: inFlowIfShort,
	schema: object{"type": "array", "minItems": 1, "maxItems": maxArguments, "items": ref("word")},
	read: func(r *reader, n *yaml.Node, what string) (list []string) {
		if n.Kind == yaml.ScalarNode {
			hint := "write a list of arguments, or use shell"
			if !r.src.json {
				hint = fmt.Sprintf("use shell: %s, or a list of arguments", abbreviate(n.Value))
			}
			r.fail(n, hint, "%s must be a list, not %s", what, r.kindOf(n))
			return nil
		}
		r.items(n, what, false, func(i int, n *yaml.Node) {
			arg, ok := r.scalar(n, "argument", "a text")
			switch {
			case !ok:
			case i == 0 && arg == "":
				r.fail(n, "begin the list with the program", "%s has no program", what)
			case i == maxArguments:
				r.fail(n, "put them into a file that the program reads", "%s has more than %d arguments", what, maxArguments)
			case i < maxArguments:
				list = append(list, r.argument(n, "argument", arg))
				r.references(n, "argument", arg)
			}
		})
		return list
	},
}

// env reads a mapping of environment variables.
func (r *reader) env(n *yaml.Node, what string) map[string]string {
	env := map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		name := key.Value
		variable := what + " " + quote(name)
		switch {
		case name == "" || strings.ContainsAny(name, "= \t\n$\x00"):
			r.fail(key, "letters, digits and _", "%s has the name %s, which is not a variable's", what, quote(name))
			return
		case slices.Contains(ownVariables, name) || strings.HasPrefix(name, job.ParamVariablePrefix):
			r.fail(key, "choose another name", "%s sets %s, which is set by rota", what, name)
			return
		case isNull(value):
			r.fail(key, `write "" for an empty value`, "%s has no value", variable)
			return
		}
		v, ok := r.scalar(value, variable, "a text")
		if !ok {
			return
		}
		r.references(value, variable, v)
		env[name] = r.argument(value, variable, v)
	})
	return entries(r, n, what, env, maxEntries)
}
