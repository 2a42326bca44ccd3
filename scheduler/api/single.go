package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// singles are the headers of which rota reads one value. If a request had two, a proxy or a log could read the other one. Package
// webhook refuses those of deliveries itself.
var singles = map[string]bool{
	"Authorization": true, "Content-Type": true, keyHeader: true, "If-Match": true, "If-None-Match": true, "Last-Event-Id": true,
	"Origin": true, "Sec-Fetch-Site": true, ByHeader: true, NodeHeader: true,
}

// singleHeaders refuses requests with two values of a header that has one.
func (s *Server) singleHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if len(values) > 1 && singles[name] {
				s.leaveBody(w, r)
				writeProblem(w, http.StatusBadRequest, fmt.Sprintf("the request has the header %s %d times: send it once", name, len(values)))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// readBody is the body of a request that takeBody has read.
type readBody struct {
	*bytes.Reader
	text []byte
}

// Close implements io.Closer.
func (readBody) Close() error { return nil }

// singleFields refuses a query that cannot be read, and a body in which an object has a field twice. Package json would take the
// last one without a word. The editor of definitions reports this itself. singleFields also refuses a body that is not UTF-8.
// Package json would replace bytes of it, and two keys could become one. Deliveries of hooks may have any form. The type of the
// body counts without regard to case.
func (s *Server) singleFields(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/hooks/") {
			next.ServeHTTP(w, r)
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // otherwise a filter would not count
			writeProblem(w, http.StatusBadRequest, "the query of the URL is wrong: "+err.Error())
			return
		}
		if b, ok := r.Body.(readBody); ok {
			if !utf8.Valid(b.text) {
				writeProblem(w, http.StatusBadRequest, "the body is not UTF-8 text")
				return
			}
			if r.Method == http.MethodPost {
				if field := repeated(b.text); field != "" {
					writeProblem(w, http.StatusUnprocessableEntity, fmt.Sprintf("body.%s is given twice: remove one of the two", field))
					return
				}
			}
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil {
				r.Header.Set("Content-Type", kind)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// payloadField is the field whose value belongs to the client alone. Nothing in it counts.
const payloadField = "payload"

// maxNesting is how deep package json reads a text. It refuses deeper ones.
const maxNesting = 10_000

// repeated returns the path of a field that an object of a JSON text has twice; "" if there is none, or if package json refuses the
// text. Fields of the request itself count as equal without regard to case, because package json accepts any case.
func repeated(text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var open []opened
	for {
		token, err := dec.Token()
		if err != nil || len(open) > maxNesting {
			return ""
		}
		top := len(open) - 1
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:top]
			continue
		case top >= 0 && open[top].keys != nil && !open[top].valued:
			name, _ := token.(string) // the decoder refuses any other key
			if open[top].has(name, top == 0) {
				return fieldPath(open[:top], name)
			}
			open[top].name, open[top].valued = name, true
			if top == 0 && fold(name) == payloadField {
				var skipped json.RawMessage
				if dec.Decode(&skipped) != nil {
					return ""
				}
				open[top].valued = false
			}
			continue
		case top >= 0:
			open[top].valued = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, opened{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, opened{})
		}
	}
}

// opened is an object or a list whose end has not been read.
type opened struct {
	keys   map[string]bool // the names that it has; nil for a list
	name   string          // the latest one
	valued bool            // the value of name comes next
}

// has adds a name, and reports whether the object had it already.
func (o *opened) has(name string, anyCase bool) bool {
	if anyCase {
		name = fold(name)
	}
	if o.keys[name] {
		return true
	}
	o.keys[name] = true
	return false
}

// fold returns a text that is equal for all names that package json takes for one field.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// fieldPath returns the names that lead to a field.
func fieldPath(open []opened, name string) string {
	var steps []string
	for _, o := range open {
		if o.keys != nil {
			steps = append(steps, o.name)
		}
	}
	return strings.Join(append(steps, name), ".")
}
