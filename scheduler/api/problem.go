package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/suggest"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

// ErrUnavailable is returned by a Backend if the store, or another process that it needs, does not answer or is not ready. It is
// unknown whether a write happened.
var ErrUnavailable = errors.New("unavailable")

// ErrHeld is returned by a Backend whose process waits for an operator. Another server may answer the request. This server
// answers after the operator has acted.
var ErrHeld = fmt.Errorf("this process waits for an operator, and is %w", ErrUnavailable)

// NoSuchPath begins the detail of the answer to a request for an unknown path. Clients of a later version recognise it.
const NoSuchPath = "nothing here"

// Invalid is returned by a Backend for a definition with mistakes.
type Invalid struct {
	Errors []FieldError
}

// FieldError is a mistake in one field of a definition.
type FieldError struct {
	Field   string // path of the key, such as retry.max; empty for the definition as a whole
	Message string
}

func (e *Invalid) Error() string {
	var b strings.Builder
	for i, f := range e.Errors {
		if i > 0 {
			b.WriteString("; ")
		}
		if !strings.HasPrefix(f.Message, f.Field) { // most messages begin with the field
			b.WriteString(f.Field + ": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// Refusal is returned by a Backend for a valid request that the present state forbids. Reason is a sentence for people. It also
// says what to do instead.
type Refusal struct {
	Reason string
}

func (e *Refusal) Error() string { return e.Reason }

// Overloaded is returned by a Backend for a request that would pass a bound. Nothing was stored, and the same request may be
// accepted later.
type Overloaded struct {
	Reason string
	After  int // seconds after which the client may try again
}

func (e *Overloaded) Error() string { return e.Reason }

// OwnedByFile returns the Refusal of a change to a definition that a file owns.
func OwnedByFile(kind, name, file string) error {
	return &Refusal{fmt.Sprintf("%s %s is defined in %s: change it there, or remove it there and then apply it", kind, name, file)}
}

// NotEnded returns the Refusal of a retry of a run that has not ended.
func NotEnded(run string, state job.State) error {
	return &Refusal{fmt.Sprintf("run %s is %s: only a run that has ended can be retried; cancel it first", run, state)}
}

// unreadableHint is the hint for an unreadable record.
const unreadableHint = "repair it or delete it with `rota etcdctl`; `rota status` lists all such keys"

// The seconds after which a client may try again.
const (
	retryAfter = "2"
	retryLater = "10" // an operator has to act first
)

// problem converts an error of a Backend into an RFC 9457 problem. conditional is true if the request had a precondition.
func problem(err error, conditional bool) error {
	var (
		invalid    *Invalid
		refusal    *Refusal
		overloaded *Overloaded
		delivery   *webhook.Refusal
		transition *job.TransitionError
		status     huma.StatusError
	)
	switch {
	case errors.As(err, &status):
		return err
	case errors.As(err, &invalid):
		shown := Invalid{invalid.Errors[:min(len(invalid.Errors), maxErrors)]}
		details := make([]error, len(shown.Errors))
		for i, f := range shown.Errors {
			details[i] = &huma.ErrorDetail{Location: strings.TrimSuffix("body."+f.Field, "."), Message: f.Message}
		}
		text := shown.Error()
		if extra := len(invalid.Errors) - maxErrors; extra > 0 {
			text += fmt.Sprintf("; and %d more", extra)
		}
		return huma.Error422UnprocessableEntity(text, details...)
	case errors.As(err, &refusal):
		return huma.Error409Conflict(refusal.Reason)
	case errors.As(err, &delivery):
		return huma.NewError(delivery.Status, delivery.Reason)
	case errors.As(err, &overloaded):
		return again(huma.Error503ServiceUnavailable(overloaded.Reason), strconv.Itoa(overloaded.After))
	case errors.As(err, &transition):
		return huma.Error409Conflict(transition.Error())
	case errors.Is(err, job.ErrNotFound):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, job.ErrConflict) && conditional:
		return huma.Error412PreconditionFailed("it is not at the revision that the request names: read it again (" + err.Error() + ")")
	case errors.Is(err, job.ErrConflict):
		return huma.Error409Conflict("another client changed it at the same time: read it again (" + err.Error() + ")")
	case errors.Is(err, job.ErrUnreadable):
		return huma.Error409Conflict(err.Error() + ": " + unreadableHint)
	case errors.Is(err, job.ErrTooLarge):
		return huma.Error413RequestEntityTooLarge(err.Error())
	case errors.Is(err, job.ErrFull):
		return again(huma.NewError(http.StatusInsufficientStorage,
			err.Error()+": it accepts only deletions: make room (compact, defrag), then run `rota etcdctl alarm disarm`"), retryLater)
	case errors.Is(err, ErrHeld):
		return again(huma.Error503ServiceUnavailable(err.Error()), retryLater)
	case errors.Is(err, ErrUnavailable):
		return again(huma.Error503ServiceUnavailable(err.Error()), retryAfter)
	case errors.Is(err, context.Canceled):
		return again(huma.Error503ServiceUnavailable("the request was cut short: a change may or may not have been made"), retryAfter)
	case errors.Is(err, context.DeadlineExceeded):
		return again(huma.Error504GatewayTimeout(
			"the store did not answer in time: a change may or may not have been made, so check before you repeat it"), retryAfter)
	}
	return huma.Error500InternalServerError(err.Error())
}

func again(err error, seconds string) error {
	return huma.ErrorWithHeaders(err, http.Header{"Retry-After": {seconds}})
}

// writeProblem writes the answer to a request that reached no operation. A person gets a page.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	if rec, ok := w.(*recorder); ok && rec.person != nil {
		writeRefusal(w, rec.person, status, detail)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// An error means that the client is gone.
	_ = json.NewEncoder(w).Encode(huma.NewError(status, detail))
}

const (
	// maxDetails is how many field errors the detail of a problem contains.
	maxDetails = 3
	// maxErrors is how many field errors a problem has. A body can have a hundred thousand unknown fields, and the search for a
	// suggestion takes a tenth of a millisecond for each.
	maxErrors = 25
)

// readableProblems copies the field errors of huma into the detail of the problem, with suggestions for unknown fields. It
// removes the values of a body, because they may be secrets.
func readableProblems(registry huma.Registry) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) {
		p, ok := v.(*huma.ErrorModel)
		if !ok || len(p.Errors) == 0 {
			return v, nil
		}
		var lines []string
		found, generic := len(p.Errors), strings.HasPrefix(p.Detail, "validation failed")
		p.Errors = p.Errors[:min(found, maxErrors)]
		for _, e := range p.Errors {
			switch e.Value.(type) {
			case string, float64, int64, bool:
				if strings.HasPrefix(e.Location, "body") {
					e.Value = nil
				}
			default:
				e.Value = nil
			}
			if e.Message == "unexpected property" {
				name := e.Location[strings.LastIndexByte(e.Location, '.')+1:]
				e.Message = "unknown field"
				if near := suggest.Nearest(name, fields(ctx.Operation(), registry)); near != "" {
					e.Message += fmt.Sprintf(", did you mean %q?", near)
				}
			}
			if text, ok := strings.CutPrefix(e.Message, badNumberPrefix); ok {
				field, text, _ := strings.Cut(text, ": ")
				e.Location, e.Message = strings.TrimSuffix(e.Location+"."+field, "."), text
			}
			if strings.HasPrefix(e.Message, huma.ErrUnknownContentType.Error()) {
				e.Message = "send the body as application/json"
			}
			lines = append(lines, e.Location+": "+e.Message)
		}
		if generic {
			if extra := found - maxDetails; extra > 0 {
				lines = append(lines[:maxDetails], fmt.Sprintf("and %d more", extra))
			}
			p.Detail = strings.Join(lines, "; ")
		}
		return p, nil
	}
}
