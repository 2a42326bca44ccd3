package config

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// actions are the keys of which a job has exactly one.
var actions = []string{"command", "shell", "http", "handler"}

// toldEnv are the variables that a job gets from rota.
var toldEnv = []string{
	"ROTA_JOB", "ROTA_RUN", "ROTA_SLOT", "ROTA_ATTEMPT", "ROTA_FENCING_TOKEN", "ROTA_IDEMPOTENCY_KEY",
	"ROTA_DEADLINE", "ROTA_PAYLOAD", "TRACEPARENT",
}

// action checks that a job does one thing, and that nothing is said that this thing has no use for. own is the job's
// mapping without defaults.
func (r *reader) action(own, key *yaml.Node, what string, s *job.Spec) {
	var given []string
	for _, k := range actions {
		if child(own, k) != nil {
			given = append(given, k)
		}
	}
	switch {
	case len(given) == 0:
		r.fail(key, "add one of "+oneOf(actions), "%s does nothing", what)
	case len(given) > 1:
		r.fail(keyOf(own, given[1]), "keep one of them, or make two jobs", "%s has more than one action: %s", what, strings.Join(given, " and "))
	case given[0] == "http" || given[0] == "handler":
		for _, k := range []string{"env", "dir", "resources"} {
			if child(own, k) != nil {
				r.fail(keyOf(own, k), "remove it", "%s has no effect on a job with %s", k, given[0])
			}
		}
		s.Env, s.Dir, s.Resources = nil, "", nil
	}
}

func readCommand(r *reader, n *yaml.Node, s *job.Spec) {
	if n.Kind == yaml.ScalarNode {
		r.fail(n, fmt.Sprintf("use shell: %s, or a list of arguments", abbreviate(n.Value)), "command must be a list, not %s", kindOf(n))
		return
	}
	r.items(n, "command", false, func(i int, n *yaml.Node) {
		arg, ok := r.scalar(n, "argument", "a text")
		switch {
		case !ok:
		case i == 0 && arg == "":
			r.fail(n, "begin the list with the program", "command has no program")
		case i == maxArguments:
			r.fail(n, "put them into a file that the program reads", "command has more than %d arguments", maxArguments)
		case i < maxArguments:
			s.Command = append(s.Command, r.told(n, "argument", arg))
			r.references(n, "argument", arg)
		}
	})
}

func readEnv(r *reader, n *yaml.Node, s *job.Spec) {
	env := map[string]string{}
	r.pairs(n, "env", func(key, value *yaml.Node) {
		name := key.Value
		switch {
		case name == "" || strings.ContainsAny(name, "= \t\n$\x00"):
			r.fail(key, "letters, digits and _", "env has the name %s, which is not a variable's", quote(name))
			return
		case slices.Contains(toldEnv, name):
			r.fail(key, "choose another name", "env sets %s, which is set by rota", name)
			return
		}
		if isNull(value) {
			r.fail(key, `write "" for an empty value`, "env %s has no value", quote(name))
			return
		}
		v, ok := r.scalar(value, "env "+quote(name), "a text")
		if !ok {
			return
		}
		r.references(value, "env "+quote(name), v)
		env[name] = r.told(value, "env "+quote(name), v)
	})
	r.tooMany(n, "env", len(env))
	if len(env) > 0 {
		s.Env = env
	}
}

var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions,
}

// statuses are what a target may answer with.
var statuses = job.Range[int]{Low: 100, High: 599}

var httpFields = []field[job.HTTP]{
	{"url", func(r *reader, n *yaml.Node, h *job.HTTP) {
		h.URL = r.required(n, "url", maxURL)
		r.url(n, h.URL)
	}},
	{"method", func(r *reader, n *yaml.Node, h *job.HTTP) { h.Method = choice(r, n, "method", methods) }},
	{"headers", readHeaders},
	{"json", func(r *reader, n *yaml.Node, h *job.HTTP) {
		h.JSON = r.json(n, "json")
		r.placeholdersIn(n)
	}},
	{"body", func(r *reader, n *yaml.Node, h *job.HTTP) {
		h.Body = r.text(n, "body", maxText)
		r.placeholders(n, "body", h.Body)
	}},
	{"expect", func(r *reader, n *yaml.Node, h *job.HTTP) {
		r.items(n, "expect", true, func(_ int, n *yaml.Node) {
			if status := r.count(n, "expect", statuses); status != 0 && !slices.Contains(h.Expect, status) {
				h.Expect = append(h.Expect, status)
			}
		})
	}},
}

func readHTTP(r *reader, n *yaml.Node, s *job.Spec) {
	var h job.HTTP
	if !readFields(r, n, "http", httpFields, nil, &h) {
		return
	}
	if child(n, "url") == nil {
		r.fail(n, "add url: https://host/path", "http has no url")
	}
	if child(n, "json") != nil && child(n, "body") != nil {
		r.fail(keyOf(n, "body"), "keep one of them", "http has both json and body")
	}
	s.HTTP = &h
}

func readHeaders(r *reader, n *yaml.Node, h *job.HTTP) {
	headers, seen := map[string]string{}, map[string]string{}
	r.pairs(n, "headers", func(key, value *yaml.Node) {
		name := key.Value
		v, ok := r.scalar(value, "header "+quote(name), "a text")
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !ok:
		case !isToken(name):
			r.fail(key, "letters, digits and dashes", "headers has the name %s, which is not a header's", quote(name))
		case seen[canonical] != "":
			r.fail(key, "remove one of the two", "duplicate header %s: already given as %s", quote(name), quote(seen[canonical]))
		case strings.ContainsAny(v, "\r\n\x00"):
			r.fail(value, "write it on one line", "header %s has a line break in its value", quote(name))
		default:
			seen[canonical] = name
			headers[name] = r.limited(value, "header "+quote(name), v, maxText)
			r.placeholders(value, "header "+quote(name), v)
		}
	})
	r.tooMany(n, "headers", len(headers))
	if len(headers) > 0 {
		h.Headers = headers
	}
}

func isToken(s string) bool {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("!#$%&'*+-.^_`|~", c):
		default:
			return false
		}
	}
	return s != ""
}

// url checks a URL as far as it is known before its references are resolved.
func (r *reader) url(n *yaml.Node, text string) {
	if text == "" {
		return
	}
	r.placeholders(n, "url", text)
	known := placeholder.ReplaceAllString(text, "1")
	if placeholder.MatchString(text) && placeholder.FindStringIndex(text)[0] == 0 {
		return // the scheme, and maybe the host, come from a reference
	}
	u, err := url.Parse(known)
	switch {
	case err != nil:
		reason := err
		if e, ok := err.(*url.Error); ok {
			reason = e.Err
		}
		r.fail(n, "such as https://host/path", "url %s: %v", quote(text), reason)
	case u.Scheme != "http" && u.Scheme != "https":
		r.fail(n, "such as https://host/path", "url %s does not begin with http:// or https://", quote(text))
	case u.Hostname() == "":
		r.fail(n, "such as https://host/path", "url %s has no host", quote(text))
	}
}
