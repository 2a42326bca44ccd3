package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func invalid(location, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return huma.Error422UnprocessableEntity(location+": "+message, &huma.ErrorDetail{Location: location, Message: message})
}

// etag returns a store revision as an entity tag.
func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// precondition parses If-Match and If-None-Match.
func precondition(ifMatch, ifNoneMatch string) (Precondition, error) {
	var p Precondition
	switch ifNoneMatch = strings.TrimSpace(ifNoneMatch); ifNoneMatch {
	case "":
	case "*":
		p.Absent = true
	default:
		return p, huma.Error400BadRequest(fmt.Sprintf("If-None-Match %s: only * is understood", ifNoneMatch))
	}
	switch ifMatch = strings.TrimSpace(ifMatch); ifMatch {
	case "":
		return p, nil
	case "*":
		p.Exists = true
	default:
		tag := strings.TrimPrefix(ifMatch, "W/") // proxies that compress answers put W/ before the tag
		rev, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
		if err != nil || rev <= 0 {
			return p, huma.Error400BadRequest(fmt.Sprintf("If-Match %s: write one revision, for example \"123\"", ifMatch))
		}
		p.Revision = rev
	}
	if p.Absent {
		return p, huma.Error400BadRequest("If-Match and If-None-Match contradict each other")
	}
	return p, nil
}

// keyHeader is the header with the key of a submission.
const keyHeader = "Idempotency-Key"

// showEmpty replaces an empty key or condition by an empty text in quotes, which is refused. Without quotes, an operation could not
// distinguish it from a missing header. It would create another run, or replace a definition that somebody else has changed.
func showEmpty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{keyHeader, "If-Match", "If-None-Match"} {
			if values, given := r.Header[name]; given && strings.TrimSpace(values[0]) == "" {
				r.Header.Set(name, `""`)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// idempotencyKey returns the key of a submission. It comes from the header, as a quoted string or a bare word, or from the body.
// An empty header is refused: its client wants to send a key, and without a key every submission would create another run.
func idempotencyKey(header, field string) (string, error) {
	key := strings.TrimSpace(header)
	if unquoted, err := strconv.Unquote(key); err == nil && strings.HasPrefix(key, `"`) {
		key = unquoted
	}
	switch {
	case key == "" && header != "":
		return "", invalid("header."+keyHeader, "is empty: give a key, or leave the header out")
	case key == "":
		key = field
	case field != "" && field != key:
		return "", invalid("body.key", "differs from the header Idempotency-Key")
	}
	if len(key) > MaxKey {
		return "", invalid("body.key", "has %d bytes: at most %d", len(key), MaxKey)
	}
	for _, c := range key {
		if c < ' ' || c == 0x7f {
			return "", invalid("body.key", "holds a control character")
		}
		if c == utf8.RuneError { // stored as JSON, all such bytes become one character, so different keys would become one
			return "", invalid("body.key", "is not UTF-8 text")
		}
	}
	return key, nil
}

// payload checks the size of a payload. null means that there is no payload.
func payload(p json.RawMessage) (json.RawMessage, error) {
	if len(p) > MaxPayload {
		return nil, huma.Error413RequestEntityTooLarge(fmt.Sprintf("payload has %d bytes: at most %d", len(p), MaxPayload))
	}
	if string(p) == "null" {
		return nil, nil
	}
	return p, nil
}

// due returns the earliest start of a submitted run; zero if the submission gives none.
func due(in string, at *time.Time, now time.Time) (time.Time, error) {
	switch {
	case in != "" && at != nil:
		return time.Time{}, invalid("body.in", "give either in or at")
	case at != nil:
		return recordable("body.at", *at)
	case in == "":
		return time.Time{}, nil
	}
	d, err := job.ParseSpan(in)
	if err != nil || d < 0 {
		return time.Time{}, invalid("body.in", "%q is not a time span: write it with a unit, for example 90s, 2h or 7d", in)
	}
	return now.Add(d).UTC(), nil
}

// instant parses an RFC 3339 time of a query. It accepts a space for +, because an unescaped + in a query means a space.
func instant(parameter, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1))
	if err != nil {
		return t, invalid("query."+parameter, "%q is not a time: write it as RFC 3339, for example 2026-01-31T02:30:00Z", s)
	}
	return recordable("query."+parameter, t)
}

// presentOr parses the time of a query, which is now by default.
func (s *Server) presentOr(parameter, text string) (time.Time, error) {
	if text == "" {
		return s.present(), nil
	}
	return instant(parameter, text)
}

// recordable returns t in UTC. It refuses a time that records and answers cannot hold: RFC 3339 has years of four digits. The zone
// of a client can move a time out of them.
func recordable(location string, t time.Time) (time.Time, error) {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, invalid(location, "lies outside of the years 1 to 9999 in UTC")
	}
	return t, nil
}

// selector parses a selector of jobs.
func selector(text string) (job.Selector, error) {
	s, err := job.ParseSelector(text)
	if err != nil {
		return s, invalid("query.selector", "%v", err)
	}
	return s, nil
}

// since parses an instant, a date in UTC, or a span before now.
func since(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := job.ParseSpan(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	t, err := instant("since", s)
	if err != nil {
		return t, invalid("query.since", "%q: write a time span such as 24h or 7d, a date, or a time such as 2026-01-31T02:30:00Z", s)
	}
	return t, nil
}

// states parses a query parameter that may be repeated. One value may also have several states, separated by commas.
func states(values []string) ([]job.State, error) {
	var all []job.State
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			state := job.State(strings.TrimSpace(name))
			if state == "" {
				continue
			}
			if !state.Valid() {
				return nil, invalid("query.state", "%q is not a state: use %s", name, joined(job.States()))
			}
			if !slices.Contains(all, state) {
				all = append(all, state)
			}
		}
	}
	return all, nil
}

func joined[T ~string](values []T) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

// token returns a text for the position of r in a list. The client sends it back to get the next page.
func token(r *RunView) string {
	text := r.Slot.UTC().Format(time.RFC3339Nano) + " " + r.Created.UTC().Format(time.RFC3339Nano) + " " + r.Name()
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func mark(token string) (*RunMark, error) {
	if token == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	slot, rest, _ := strings.Cut(string(raw), " ")
	first, name, _ := strings.Cut(rest, " ")
	created, createdErr := time.Parse(time.RFC3339Nano, first)
	if createdErr != nil {
		name = rest // a token of an earlier version
	}
	t, timeErr := time.Parse(time.RFC3339Nano, slot)
	jobName, id, nameErr := job.ParseRunName(name)
	if err != nil || timeErr != nil || nameErr != nil {
		return nil, invalid("query.continue", "is not a token that a list has given")
	}
	return &RunMark{Slot: t, Job: jobName, ID: id, Created: created}, nil
}
