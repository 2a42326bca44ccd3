package config

import (
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
	"go.yaml.in/yaml/v4"
)

const hookHint = "give it a job and a secret"

// hook is a hook beside jobs, which names its job.
type hook struct {
	Job string `json:"job"`
	job.Hook
}

// hookTable returns the keys of a hook. of returns the hook in a T. first are keys that stand before them.
func hookTable[T any](of func(*T) *job.Hook, first ...row[T]) table[T] {
	var none T
	return tableOf(none, append(first,
		key("secret", hookSecret, func(h *T) *string { return &of(h).Secret },
			`"${file:/run/secrets/hook}"`, "A reference to the secret with which requests are signed. It is base64, and may begin "+
				"with whsec_. A replica resolves it for each request.", required),
		key("param", words("mapping of templates", inFlow, (*reader).hookParams), func(h *T) *map[string]string { return &of(h).Param },
			`{env: "{{ .Body.environment }}"}`, "The parameters that a request gives to the run. A template may name .Body, the JSON "+
				"of the request, and .ID.", zero("The parameters have their defaults.")),
	)...)
}

var (
	hookKeys    = hookTable(func(h *job.Hook) *job.Hook { return h })
	topHookKeys = hookTable(func(h *hook) *job.Hook { return &h.Hook },
		key("job", word(job.MaxNameLength), func(h *hook) *string { return &h.Job },
			"report", "The job that a request starts.", required))
)

// hookSecret is the kind of the reference to a secret.
var hookSecret = kind[string]{
	name: "reference", limits: "one ${file:/path} or ${env:NAME}",
	schema: object{"type": "string", "pattern": `^\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^}]*)\}$`},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxURL)
		if err := job.CheckHookSecret(text); text != "" && err != nil {
			r.fail(n, "put the secret into a file, and write ${file:/run/secrets/NAME}", "%s %v", what, err)
		}
		return text
	},
}

// hookParams reads the templates of a hook's parameters.
func (r *reader) hookParams(n *yaml.Node, what string) map[string]string {
	params := map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		name := what + "." + abbreviate(key.Value)
		text, ok := r.scalar(value, name, "a text or a template")
		if !ok {
			return
		}
		params[key.Value] = r.limited(value, name, text, job.MaxHookTemplate)
		if referenceStart.MatchString(text) {
			r.fail(value, "give the secret to the job by env", "%s has a reference, and only secret may have one", name)
		} else if _, _, err := webhook.CheckTemplate(text); err != nil {
			r.fail(value, "such as {{ .Body.environment }}", "%s has a template that cannot be used: %v", name, err)
		}
	})
	return entries(r, n, what, params, maxEntries)
}

// hooksOfJob is the kind of the hooks below a job.
var hooksOfJob = kind[job.Hooks]{
	name: "mapping of hooks", limits: fmt.Sprintf("at most %d hooks", job.MaxHooks), layout: eachInFlow,
	keys: hookKeys.keys(), schema: namedBy(mappingSchema(hookKeys.keys(), nil)),
	read: func(r *reader, n *yaml.Node, what string) job.Hooks {
		hooks := job.Hooks{}
		r.pairs(n, what, func(key, value *yaml.Node) {
			what := hookKind + " " + quote(key.Value)
			if err := job.CheckName(key.Value); err != nil {
				r.badName(key, hookKind, err)
			}
			var h job.Hook
			switch {
			case isNull(value):
				r.fail(key, "give it a secret", "%s has no value", what)
			case readKeys(r, value, what, "", hookKeys, nil, &h):
				r.requireSecret(key, value, what)
				hooks[key.Value] = h
			}
		})
		if len(hooks) == 0 {
			return nil
		}
		return hooks
	},
}

func (r *reader) requireSecret(key, value *yaml.Node, what string) {
	if child(value, "secret") == nil {
		r.failAbsent(key, "secret", `such as secret: "${file:/run/secrets/hook}"`, "%s has no secret", what)
	}
}

// hookUse is the place of a hook.
type hookUse struct {
	r          *reader
	key, value *yaml.Node
	job        *yaml.Node // names the job, for a hook beside jobs; nil for a hook below a job
	of         string     // the job
}

// hook reads one hook beside jobs.
func (l *loader) hook(r *reader, key, value *yaml.Node) {
	before := r.mistakes()
	what, ok := l.hooks.declare(r, key, value)
	var h hook
	if !ok || !readKeys(r, value, what, "", topHookKeys, nil, &h) {
		return
	}
	if child(value, "job") == nil {
		r.failAbsent(key, "job", "such as job: report", "%s has no job", what)
	}
	r.requireSecret(key, value, what)
	l.hooks.set(key.Value, h.Hook)
	if r.mistakes() == before {
		l.hookUses = append(l.hookUses, hookUse{r, key, value, child(value, "job"), h.Job})
	}
}

// useHooks records the hooks below a job, which the table of its keys has read.
func (l *loader) useHooks(r *reader, n *yaml.Node, name string, hooks job.Hooks) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		h, ok := hooks[key.Value]
		if !ok {
			continue
		}
		if other, known := l.hooks.known[key.Value]; known {
			r.fail(key, "rename or remove one of the two", "duplicate hook %s: already defined at %s:%d",
				quote(key.Value), other.File, other.Line)
			continue
		}
		l.hooks.known[key.Value] = Defined[job.Hook]{Name: key.Value, File: r.src.name, Line: key.Line, Spec: h}
		l.hookUses = append(l.hookUses, hookUse{r, key, value, nil, name})
	}
}

// addHooks adds the hooks beside jobs to their jobs, and compares all hooks with the parameters of their jobs.
func (l *loader) addHooks() {
	sound := map[string]bool{}
	for _, key := range l.sound {
		sound[key.node.Value] = true
	}
	for _, u := range l.hookUses {
		one, known := l.jobs.known[u.of]
		if !known {
			const otherwise = "define it below jobs:, in this file or another one that is read with it"
			u.r.fail(u.job, didYouMean(u.of, sortedKeys(l.jobs.known), otherwise), "job %s is not defined", quote(u.of))
			continue
		}
		name := u.key.Value
		if u.job != nil {
			if one.Spec.Hooks == nil {
				one.Spec.Hooks = job.Hooks{}
			}
			one.Spec.Hooks[name] = l.hooks.known[name].Spec
			l.jobs.set(u.of, one.Spec)
		}
		if len(one.Spec.Hooks) > job.MaxHooks {
			u.r.fail(u.key, "remove some of them", "job %s has %d hooks, at most %d are allowed",
				quote(u.of), len(one.Spec.Hooks), job.MaxHooks)
		}
		if sound[u.of] {
			u.check(&one.Spec, one.Spec.Hooks[name])
		}
	}
}

// check reports a parameter that the job does not declare, and a text that it refuses.
func (u *hookUse) check(spec *job.Spec, h job.Hook) {
	declared, given := sortedKeys(spec.Params), child(u.value, "param")
	for _, name := range sortedKeys(h.Param) {
		p, ok := spec.Params[name]
		if !ok {
			hint := didYouMean(name, declared, "declare it in the job: params: {"+name+": {}}")
			u.r.fail(keyOf(given, name), hint, "hook %s gives the parameter %s, which job %s does not declare",
				quote(u.key.Value), quote(name), quote(u.of))
			continue
		}
		if literal, ok, err := webhook.CheckTemplate(h.Param[name]); ok && err == nil {
			if err := p.Accept(literal); err != nil {
				u.r.fail(child(given, name), "correct it, or change the rule", "param.%s: the value %s %v", name, quote(literal), err)
			}
		}
	}
}
