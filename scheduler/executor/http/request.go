package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// filled is the request of an attempt.
type filled struct {
	request *http.Request
	secrets []string // the values of references
	err     error    // why there is no request
}

// fill makes the request. It returns false if ctx ends before the files of its references are read.
func (e *Executor) fill(ctx context.Context, req *executor.Request) (filled, bool) {
	read := func() (f filled) {
		resolver := refs.Resolver{Policy: e.refs}
		f.request, f.err = e.request(ctx, req, &resolver)
		f.secrets = resolver.Secrets()
		return f
	}
	if !hasReferences(req.Spec.HTTP) {
		return read(), true
	}
	return executor.ReadFiles(ctx, &e.files, req.Run.Job, read)
}

// hasReferences reports whether a request has references.
func hasReferences(spec *job.HTTP) bool {
	if spec == nil {
		return false
	}
	for _, text := range spec.Headers {
		if refs.Has(text) {
			return true
		}
	}
	return refs.Has(spec.URL) || refs.Has(spec.Body) || refs.Has(string(spec.JSON))
}

// request makes the request that the job describes.
func (e *Executor) request(ctx context.Context, req *executor.Request, resolver *refs.Resolver) (*http.Request, error) {
	spec, texts := req.Spec.HTTP, newFiller(req, resolver)
	if spec == nil {
		return nil, &fill.Mistake{Text: "job has no request"}
	}
	target, err := texts.Text("url", spec.URL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &fill.Mistake{Text: "url: not an absolute http or https address"} // the text of the URL may hold a secret
	}
	body, isJSON, err := content(spec, req, texts)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(spec.Method), u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &fill.Mistake{Text: "method: " + err.Error()}
	}
	r.Header.Set("User-Agent", e.agent)
	if isJSON {
		r.Header.Set("Content-Type", "application/json")
	}
	setOnce(r.Header, "Idempotency-Key", quoted(req.Run.IdempotencyKey()))
	for _, name := range slices.Sorted(maps.Keys(spec.Headers)) {
		v, err := texts.Text("header "+name, spec.Headers[name])
		if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(v, isControl) { // as in a parameter; the text may hold a secret
			return nil, &fill.Mistake{Text: "header " + name + ": its value has a line break or another control character"}
		}
		setOnce(r.Header, name, v)
		if http.CanonicalHeaderKey(name) == "Host" {
			r.Header.Del(name)
			r.Host = v
		}
	}
	setAttemptHeaders(r.Header, req)
	sendOnce(r, body)
	return r, nil
}

// isControl reports whether a header cannot have r in its value.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// content returns the body of the request: the body of the job if there is one, otherwise the payload.
func content(spec *job.HTTP, req *executor.Request, texts filler) (body []byte, isJSON bool, err error) {
	switch {
	case len(spec.JSON) > 0:
		body, err = texts.json(spec.JSON)
		return body, true, err
	case spec.Body != "":
		s, err := texts.Text("body", spec.Body)
		return []byte(s), false, err
	}
	return req.Payload(), req.Payload() != nil, nil
}

// setAttemptHeaders sets the headers that describe the attempt. A job cannot set these itself. It may set
// Idempotency-Key, for targets that need another form.
func setAttemptHeaders(h http.Header, req *executor.Request) {
	run := &req.Run
	h.Set("Rota-Job", run.Job)
	h.Set("Rota-Run", run.Name())
	h.Set("Rota-Slot", job.SlotID(run.Slot))
	h.Set("Rota-Attempt", strconv.Itoa(run.Attempt))
	h.Set("Rota-Fencing-Token", strconv.FormatInt(run.Token, 10))
	if req.TraceParent != "" {
		h.Set("Traceparent", req.TraceParent)
	}
}

// setOnce sets a header in a spelling that does not make net/http repeat the request. The transport repeats any request
// that has an Idempotency-Key in its canonical spelling. Targets ignore the case of header names.
func setOnce(h http.Header, name, value string) {
	h.Del(name)
	switch http.CanonicalHeaderKey(name) {
	case "Idempotency-Key", "X-Idempotency-Key":
		h[strings.ToLower(name)] = []string{value}
	default:
		h.Set(name, value)
	}
}

// sendOnce prevents the transport from repeating a request whose method allows that. It repeats GET, HEAD, OPTIONS and
// TRACE if there is no body or the body can be read again. So the request gets a body that can be read only once.
func sendOnce(r *http.Request, body []byte) {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(body)), nil
		r.ContentLength = int64(len(body))
		if len(body) == 0 && r.Method != http.MethodTrace {
			r.ContentLength = -1 // unknown: the transport finds the body empty and sends none
		}
	}
}

// quoted returns s as a string of RFC 8941. Bytes that such a string cannot hold are escaped as in URLs.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// filler fills in the texts of one attempt.
type filler struct{ fill.Filler }

// newFiller returns the filler of req.
func newFiller(req *executor.Request, resolver *refs.Resolver) filler {
	params := make(map[string]string)
	for name := range req.Spec.Params {
		params[name] = "" // a template may name a parameter that has no value
	}
	maps.Copy(params, req.Params())
	return filler{fill.Filler{
		Fields: fill.Fields{
			Job: req.Run.Job, Run: req.Run.Name(), Slot: fill.Instant{Time: req.Run.Slot.UTC()}, Attempt: req.Run.Attempt,
			Token: req.Run.Token, Key: req.Run.IdempotencyKey(), Deadline: fill.Instant{Time: req.Deadline.UTC()},
			Params: params,
		},
		Resolve: resolver.Resolve, Inputs: req.Inputs,
	}}
}

// json fills in the strings of a JSON document. The values are escaped as in JSON strings.
func (f filler) json(doc json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber() // keeps numbers such as 12345678901234567890 exact
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, &fill.Mistake{Text: "json: " + err.Error()}
	}
	v, err := f.walk(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.Join(&fill.Mistake{Text: "json cannot be written"}, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (f filler) walk(v any) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return f.Text("json", v)
	case []any:
		for i := range v {
			if v[i], err = f.walk(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = f.walk(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
