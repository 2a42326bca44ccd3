package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"go.yaml.in/yaml/v4"
)

// maxNotifiers is how many notifiers a job may name.
const maxNotifiers = 16

// notifier reads one notifier into all.
func (r *reader) notifier(all *definitions[job.Notifier], key, value *yaml.Node) {
	what, ok := all.declare(r, key, value)
	if !ok {
		return
	}
	var to job.Notifier
	if readKeys(r, value, what, "", notifierKeys, nil, &to) && child(value, "url") == nil {
		r.failAbsent(key, "url", "such as url: slack://…, or generic://host/path for a webhook", "%s has no url", what)
	}
	if n := child(value, "template"); n != nil && to.URL != "" && !isWebhook(to.URL) {
		r.fail(n, "remove it, or use a generic:// URL", "%s has a template, which only webhooks use", what)
	}
	all.set(key.Value, to)
}

// isWebhook reports whether a URL of a notifier is that of a webhook, or may be because its scheme comes from a reference.
func isWebhook(url string) bool {
	if at := placeholder.FindStringIndex(url); at != nil && at[0] == 0 {
		return true
	}
	scheme, _, _ := strings.Cut(url, ":")
	service, _, _ := strings.Cut(scheme, "+")
	return service == "generic"
}

// messageTemplate is the kind of the template of a webhook.
var messageTemplate = kind[string]{
	name: "template", limits: fmt.Sprintf("at most %d bytes", job.MaxTemplate),
	schema: object{"type": "string", "maxLength": job.MaxTemplate},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, job.MaxTemplate)
		if err := notify.CheckTemplate(text); err != nil {
			r.fail(n, "the fields and functions are in docs/how-to/get-notified.md", "%s: %v", what, err)
		}
		return text
	},
}

// notifierURL is the kind of the URL of a notifier's service.
var notifierURL = kind[string]{
	name: "URL", schema: object{"type": "string", "maxLength": maxURL},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxURL)
		r.notifierURL(n, text)
		return text
	},
}

// notifierURL checks the parts of a URL that are known before its references are resolved.
func (r *reader) notifierURL(n *yaml.Node, text string) {
	if text == "" {
		return
	}
	r.references(n, "url", text)
	if at := placeholder.FindStringIndex(text); at != nil && at[0] == 0 {
		return // the scheme comes from a reference
	}
	fail := func(hint, format string, args ...any) { r.fail(n, hint, format, args...) }
	scheme, rest, ok := strings.Cut(text, "://")
	service, transport, custom := strings.Cut(scheme, "+")
	switch {
	case !ok:
		fail("such as slack://…, or generic://host/path for a webhook", "url of a notifier does not begin with a scheme and ://")
	case service == "http" || service == "https":
		fail("for a webhook write generic+"+scheme+"://…", "url of a notifier begins with %s://", scheme)
	case !slices.Contains(notify.Schemes(), service):
		fail(didYouMean(service, notify.Schemes(), "use "+oneOf(notify.Schemes())),
			"url of a notifier has the unknown scheme %s", quote(scheme))
	case custom && service == "generic" && transport != "http" && transport != "https":
		fail("use generic+http:// or generic+https://", "url of a notifier has the unknown scheme %s", quote(scheme))
	case rest == "":
		fail("such as slack://…, or generic://host/path for a webhook", "url of a notifier has nothing behind %s://", scheme)
	default:
		if _, err := url.Parse(placeholder.ReplaceAllString(text, "1")); err != nil {
			fail("percent-encode its special characters", "url of a notifier cannot be read")
		}
	}
}

// notifiersOfJob is the kind of a list of notifiers. An element is a name, or a definition for this job only. The result has only
// the definitions; addNotifiers adds the definitions of the names.
var notifiersOfJob = kind[job.Notify]{
	name: "name, list of names or mapping", limits: fmt.Sprintf("at most %d notifiers", maxNotifiers), layout: eachInFlow,
	schema: object{"anyOf": []object{
		{"type": "string", "pattern": namePattern},
		{"type": "array", "minItems": 1, "maxItems": maxNotifiers, "items": object{"type": "string", "pattern": namePattern}},
		namedBy(ref("notifier")),
	}},
	request: namedBy(ref("notifier")),
	read: func(r *reader, n *yaml.Node, what string) job.Notify {
		if n.Kind != yaml.MappingNode {
			r.items(n, what, true, func(_ int, n *yaml.Node) { r.required(n, what, maxURL) })
			r.tooManyNotifiers(n, len(n.Content))
			return nil
		}
		own := newDefinitions[job.Notifier](notifierKind, notifierHint)
		r.pairs(n, what, func(key, value *yaml.Node) { r.notifier(&own, key, value) })
		r.tooManyNotifiers(n, len(own.known))
		if len(own.known) == 0 {
			return nil
		}
		list := job.Notify{}
		for name, to := range own.known {
			list[name] = to.Spec
		}
		return list
	},
}

func (r *reader) tooManyNotifiers(n *yaml.Node, count int) {
	if count > maxNotifiers {
		r.fail(n, "remove some of them", "notify has %d notifiers, at most %d are allowed", count, maxNotifiers)
	}
}

// addNotifiers adds to each job the definitions of the notifiers that it names.
func (l *loader) addNotifiers() {
	l.notifiers.resolve(func(n *yaml.Node) bool { return n.Value == "" || n.Tag != "!!str" },
		func(u use) string {
			if u.r.src.json {
				return `give definitions, such as {"ops": {"url": "slack://…"}}: names have a meaning in job files only`
			}
			return "define it below notifiers:, in this file or another one that is read with it"
		}, func(u use, to job.Notifier) {
			spec := l.jobs.known[u.job].Spec
			if spec.Notify == nil {
				spec.Notify = job.Notify{}
			}
			spec.Notify[u.node.Value] = to
			l.jobs.set(u.job, spec.WithDefaults())
		})
}
