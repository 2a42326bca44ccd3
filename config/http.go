package config

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions,
}

// statuses is the range of valid HTTP statuses.
var statuses = job.Range[int]{Low: 100, High: 599}

// statusList is the kind of a list of statuses. A repeated status counts once.
var statusList = func() kind[[]int] {
	k := listOf(integer(statuses), inFlow)
	read := k.read
	k.read = func(r *reader, n *yaml.Node, what string) (list []int) {
		for _, status := range read(r, n, what) {
			if status != 0 && !slices.Contains(list, status) {
				list = append(list, status)
			}
		}
		return list
	}
	return k
}()

// targetURL is the kind of the URL of a request.
var targetURL = kind[string]{
	name: "URL", limits: "http:// or https://", schema: object{"type": "string", "maxLength": maxURL},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxURL)
		r.url(n, what, text)
		return text
	},
}

// requestJSON is the kind of JSON data with templates.
var requestJSON = func() kind[json.RawMessage] {
	k := data((*reader).fail)
	read := k.read
	k.read = func(r *reader, n *yaml.Node, what string) json.RawMessage {
		r.placeholdersIn(n, what)
		return read(r, n, what)
	}
	return k
}()

// requestBody is the kind of a text with templates.
var requestBody = func() kind[string] {
	k := textUpTo(maxText)
	read := k.read
	k.read = func(r *reader, n *yaml.Node, what string) string {
		text := read(r, n, what)
		r.placeholders(n, what, text)
		return text
	}
	return k
}()

func checkHTTP(r *reader, n *yaml.Node, _ *job.HTTP, _ bool) {
	if child(n, "url") == nil {
		r.failAbsent(n, "url", "add url: https://host/path", "http has no url")
	}
	if child(n, "json") != nil && child(n, "body") != nil {
		r.fail(keyOf(n, "body"), "keep one of them", "http has both json and body")
	}
}

// headers reads the headers of a request.
func (r *reader) headers(n *yaml.Node, what string) map[string]string {
	headers, seen := map[string]string{}, map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		name := key.Value
		v, ok := r.scalar(value, "header "+quote(name), "a text")
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !ok:
		case !isToken(name):
			r.fail(key, "letters, digits and dashes", "%s has the name %s, which is not a header's", what, quote(name))
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
	return entries(r, n, what, headers, maxEntries)
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

// url checks the parts of a URL that are known before its references are resolved.
func (r *reader) url(n *yaml.Node, what, text string) {
	if text == "" {
		return
	}
	r.placeholders(n, what, text)
	known := placeholder.ReplaceAllString(text, "1")
	if placeholder.MatchString(text) && placeholder.FindStringIndex(text)[0] == 0 {
		return // the scheme, and possibly the host, comes from a reference
	}
	u, err := url.Parse(known)
	switch {
	case err != nil:
		reason := err
		if e, ok := errors.AsType[*url.Error](err); ok {
			reason = e.Err
		}
		r.fail(n, "such as https://host/path", "%s %s: %v", what, quote(text), reason)
	case u.Scheme != "http" && u.Scheme != "https":
		r.fail(n, "such as https://host/path", "%s %s does not begin with http:// or https://", what, quote(text))
	case u.Hostname() == "":
		r.fail(n, "such as https://host/path", "%s %s has no host", what, quote(text))
	}
}
