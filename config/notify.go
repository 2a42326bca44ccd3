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

// notifiers gathers the notifiers of all sources, and the places where jobs name them. A job may name a notifier of a later
// file.
type notifiers struct {
	known map[string]notifier
	uses  []use
}

// notifier is a definition and the place of its name.
type notifier struct {
	file string
	line int
	job.Notifier
}

// use is a place where a job names a notifier.
type use struct {
	reader    *reader
	node      *yaml.Node
	job, name string
}

// define reads the notifiers of a file.
func (s *notifiers) define(r *reader, key, value *yaml.Node) {
	if isNull(value) {
		r.fail(key, "add notifiers below it or remove the key", "notifiers has no value")
		return
	}
	r.pairs(value, "notifiers", func(key, value *yaml.Node) {
		name := key.Value
		if !r.notifierName(key) {
			return
		}
		if other, ok := s.known[name]; ok {
			r.fail(key, "rename or remove one of the two",
				"duplicate notifier %s: already defined at %s:%d", quote(name), other.file, other.line)
			return
		}
		s.known[name] = notifier{r.src.name, key.Line, r.notifier(key, value)}
	})
}

// notifierName reports whether a name is valid, and the mistake if it is not.
func (r *reader) notifierName(key *yaml.Node) bool {
	err := job.CheckName(key.Value)
	if err == nil {
		return true
	}
	r.badName(key, "notifier", err)
	return false
}

// notifier reads the definition of one notifier.
func (r *reader) notifier(key, value *yaml.Node) (to job.Notifier) {
	what := "notifier " + quote(key.Value)
	if isNull(value) {
		r.fail(key, "give it a url", "%s has no value", what)
		return to
	}
	if readKeys(r, value, what, "", notifierKeys, nil, &to) && child(value, "url") == nil {
		r.failAbsent(key, "url", "such as url: slack://…, or generic://host/path for a webhook", "%s has no url", what)
	}
	return to
}

// notifierURL is the service of a notifier.
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
		hint := didYouMean(service, notify.Schemes())
		if hint == "" {
			hint = "use " + oneOf(notify.Schemes())
		}
		fail(hint, "url of a notifier has the unknown scheme %s", quote(scheme))
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

// notifiersOfJob are names of notifiers, or definitions for one job alone. The result has the definitions; [notifiers] adds
// those that the names stand for.
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
		list := job.Notify{}
		r.pairs(n, what, func(key, value *yaml.Node) {
			if r.notifierName(key) {
				list[key.Value] = r.notifier(key, value)
			}
		})
		r.tooManyNotifiers(n, len(list))
		if len(list) == 0 {
			return nil
		}
		return list
	},
}

func (r *reader) tooManyNotifiers(n *yaml.Node, count int) {
	if count > maxNotifiers {
		r.fail(n, "remove some of them", "notify has %d notifiers, at most %d are allowed", count, maxNotifiers)
	}
}

// used records the notifiers that a job names. value is the job's mapping, with defaults.
func (s *notifiers) used(r *reader, value *yaml.Node, name string) {
	switch n := child(value, "notify"); {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		s.uses = append(s.uses, use{r, n, name, n.Value})
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			s.uses = append(s.uses, use{r, item, name, item.Value})
		}
	}
}

// resolve adds to each job the definitions of the notifiers that it names.
func (s *notifiers) resolve(jobs map[string]Definition) {
	names := sortedKeys(s.known)
	for _, u := range s.uses {
		to, ok := s.known[u.name]
		d := jobs[u.job]
		switch {
		case u.name == "" || u.node.Kind != yaml.ScalarNode || u.node.Tag != "!!str": // reported before
		case !ok:
			hint := didYouMean(u.name, names)
			switch {
			case u.reader.src.json:
				hint = `write {"` + u.name + `": {"url": "slack://…"}}: names have a meaning in job files only`
			case hint == "":
				hint = "define it below notifiers:, in this file or another one that is read with it"
			}
			u.reader.fail(u.node, hint, "notifier %s is not defined", quote(u.name))
		default:
			if d.Spec.Notify == nil {
				d.Spec.Notify = job.Notify{}
			}
			d.Spec.Notify[u.name] = to.Notifier
			d.Spec = d.Spec.WithDefaults()
			jobs[u.job] = d
		}
	}
}
