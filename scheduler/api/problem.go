package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// ErrUnavailable is returned by a Backend when the store, or whatever else it needs, cannot be reached or is not
// ready. Whether a write happened is unknown.
var ErrUnavailable = errors.New("unavailable")

// ErrHeld is returned by a Backend whose process waits for an operator: asking another may help, or asking again once somebody
// has seen to it.
var ErrHeld = fmt.Errorf("this process waits, and is %w", ErrUnavailable)

// Invalid is returned by a Backend for a definition that can be read but makes no sense.
type Invalid struct {
	Errors []FieldError
}

// FieldError says what is wrong with one field of a definition.
type FieldError struct {
	Field   string // as in the file, for example "retry.max"
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

// Refusal is returned by a Backend for a request that is understood and will not be done as things stand. Reason is a
// sentence for people, and says what to do instead.
type Refusal struct {
	Reason string
}

func (e *Refusal) Error() string { return e.Reason }

// OwnedByFile refuses to change a definition of a file.
func OwnedByFile(kind, name, file string) error {
	return &Refusal{fmt.Sprintf("%s %s is defined in %s: change it there, or remove it there and apply it anew", kind, name, file)}
}

// NotEnded refuses to retry a run that is still going on.
func NotEnded(run string, state job.State) error {
	return &Refusal{fmt.Sprintf("run %s is %s: only a run that has ended can be retried; cancel it first", run, state)}
}

// unreadableHint is what to do about a record that nobody can read.
const unreadableHint = "repair it or delete it with `rota etcdctl`; `rota status` lists all such keys"

// The seconds after which asking again may help.
const (
	retryAfter = "2"
	retryLater = "10" // what somebody has to see to first
)

// problem makes an RFC 9457 problem of an error of a Backend. conditional says that the request had a precondition.
func problem(err error, conditional bool) error {
	var (
		invalid    *Invalid
		refusal    *Refusal
		transition *job.TransitionError
		status     huma.StatusError
	)
	switch {
	case errors.As(err, &status):
		return err
	case errors.As(err, &invalid):
		details := make([]error, len(invalid.Errors))
		for i, f := range invalid.Errors {
			details[i] = &huma.ErrorDetail{Location: strings.TrimSuffix("body."+f.Field, "."), Message: f.Message}
		}
		return huma.Error422UnprocessableEntity(invalid.Error(), details...)
	case errors.As(err, &refusal):
		return huma.Error409Conflict(refusal.Reason)
	case errors.As(err, &transition):
		return huma.Error409Conflict(transition.Error())
	case errors.Is(err, job.ErrNotFound):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, job.ErrConflict) && conditional:
		return huma.Error412PreconditionFailed("it is not at the revision that the request names: look at it again (" + err.Error() + ")")
	case errors.Is(err, job.ErrConflict):
		return huma.Error409Conflict("it was changed by somebody else at the same time: look at it again (" + err.Error() + ")")
	case errors.Is(err, job.ErrUnreadable):
		return huma.Error409Conflict(err.Error() + ": " + unreadableHint)
	case errors.Is(err, job.ErrTooLarge):
		return huma.Error413RequestEntityTooLarge(err.Error())
	case errors.Is(err, job.ErrFull):
		return again(huma.NewError(http.StatusInsufficientStorage,
			err.Error()+": it takes deletions only: make room (compact, defrag), then `rota etcdctl alarm disarm`"), retryLater)
	case errors.Is(err, ErrHeld):
		return again(huma.Error503ServiceUnavailable(err.Error()), retryLater)
	case errors.Is(err, ErrUnavailable):
		return again(huma.Error503ServiceUnavailable(err.Error()), retryAfter)
	case errors.Is(err, context.Canceled):
		return again(huma.Error503ServiceUnavailable("the request was cut short: a change may have been made or not"), retryAfter)
	case errors.Is(err, context.DeadlineExceeded):
		return again(huma.Error504GatewayTimeout("the store did not answer in time: a change may have been made or not, so look before you repeat it"), retryAfter)
	}
	return huma.Error500InternalServerError(err.Error())
}

func again(err error, seconds string) error {
	return huma.ErrorWithHeaders(err, http.Header{"Retry-After": {seconds}})
}

// writeProblem answers a request that never reached an operation.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// The client may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(huma.NewError(status, detail))
}

// maxDetails is how many field errors the one-line detail of a problem repeats.
const maxDetails = 3

// polish makes the problems that validation finds readable: the field errors move into the detail with a guess at
// what was meant, and bodies are not echoed, since they may hold secrets.
func polish(properties func() []string) huma.Transformer {
	return func(_ huma.Context, _ string, v any) (any, error) {
		p, ok := v.(*huma.ErrorModel)
		if !ok || len(p.Errors) == 0 {
			return v, nil
		}
		var lines []string
		generic := strings.HasPrefix(p.Detail, "validation failed")
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
				if near := suggest.Nearest(name, properties()); near != "" {
					e.Message += fmt.Sprintf(", did you mean %q?", near)
				}
			}
			if strings.HasPrefix(e.Message, huma.ErrUnknownContentType.Error()) {
				e.Message = "send the body as application/json"
			}
			lines = append(lines, e.Location+": "+e.Message)
		}
		if generic {
			if extra := len(lines) - maxDetails; extra > 0 {
				lines = append(lines[:maxDetails], fmt.Sprintf("and %d more", extra))
			}
			p.Detail = strings.Join(lines, "; ")
		}
		return p, nil
	}
}
