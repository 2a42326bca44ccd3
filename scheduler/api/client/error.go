package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Error is an RFC 9457 problem that a server sent. errors.Is matches it with job.ErrNotFound, job.ErrConflict, job.ErrTooLarge,
// job.ErrFull and api.ErrUnavailable. An Error with Foreign or Unknown set matches only
// api.ErrUnavailable.
type Error struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	Fields     []Field       `json:"errors"`
	Server     string        `json:"-"`
	RetryAfter time.Duration `json:"-"` // 0: the server did not send it
	Foreign    bool          `json:"-"` // the sender is a proxy or another program, not rota
	Unknown    bool          `json:"-"` // the versions of the server and of the client do not fit
	Token      bool          `json:"-"` // the request had a token
}

// Field is a mistake in one part of the request.
type Field struct {
	Location string `json:"location"` // body.…, query.…, path.…, header.…
	Message  string `json:"message"`
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return fmt.Sprintf("%s answered %d %s", e.Server, e.Status, e.Title)
}

// Is implements errors.Is.
func (e *Error) Is(target error) bool {
	if target == api.ErrUnavailable {
		return e.Status >= 502 && e.Status <= 504
	}
	if e.Foreign || e.Unknown { // their 404 does not mean that a job is missing
		return false
	}
	switch target {
	case job.ErrNotFound:
		return e.Status == http.StatusNotFound
	case job.ErrConflict:
		return e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed
	case job.ErrTooLarge:
		return e.Status == http.StatusRequestEntityTooLarge
	case job.ErrFull:
		return e.Status == http.StatusInsufficientStorage
	}
	return false
}

func readProblem(server string, res *http.Response, body []byte) error {
	e := &Error{}
	if !hasType(res, "application/problem+json") || json.Unmarshal(body, e) != nil {
		e = &Error{Foreign: true, Detail: foreignText(server, res)}
	}
	e.Status, e.Server = res.StatusCode, server // the body may have a different status
	e.Token = res.Request.Header.Get("Authorization") != ""
	switch {
	case e.Status == http.StatusUnauthorized && e.Token && !e.Foreign:
		e.Detail = server + " rejects the token: it has expired, was revoked, or belongs to another cluster"
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.Detail, api.NoSuchPath):
		e.Unknown = true
		request := res.Request.Method + " " + res.Request.URL.Path
		e.Detail = fmt.Sprintf("%s does not know %s: its version is older than this command", server, request)
	}
	if e.Title == "" {
		e.Title = http.StatusText(res.StatusCode)
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// foreign returns an error for a successful answer that does not come from rota.
func foreign(res *http.Response) error {
	server := res.Request.URL.Scheme + "://" + res.Request.URL.Host
	return &Error{
		Foreign: true, Status: res.StatusCode, Title: http.StatusText(res.StatusCode), Server: server, Detail: foreignText(server, res),
	}
}

// newer returns an error for a successful answer whose form has changed.
func newer(res *http.Response, err *json.UnmarshalTypeError) error {
	server := res.Request.URL.Scheme + "://" + res.Request.URL.Host
	const text = "%s answers in a form that this command does not know (%s is a %s): its version is newer"
	return &Error{
		Unknown: true, Status: res.StatusCode, Title: http.StatusText(res.StatusCode), Server: server,
		Detail: fmt.Sprintf(text, server, err.Field, err.Value),
	}
}

func foreignText(server string, res *http.Response) string {
	return fmt.Sprintf("%s answered %s, and not as rota does: is it the right address?", server, res.Status)
}

var errNoAnswer = errors.New("no answer")

// late is the error of a server that did not answer in time. It is a context.DeadlineExceeded.
type late time.Duration

func (e late) Error() string        { return fmt.Sprintf("it did not answer within %s", time.Duration(e)) }
func (e late) Is(target error) bool { return target == context.DeadlineExceeded }

// noAnswer is the error for a server that did not answer.
type noAnswer struct {
	Server string
	Change bool // the request was a change, which may have taken effect
	Err    error
}

func (e *noAnswer) Error() string {
	if e.Change {
		return fmt.Sprintf("ask %s: %v: whether the change was made is unknown, so check before you repeat it", e.Server, e.Err)
	}
	return fmt.Sprintf("ask %s: %v", e.Server, e.Err)
}

func (e *noAnswer) Unwrap() error { return e.Err }
func (e *noAnswer) Is(target error) bool {
	return target == errNoAnswer || target == api.ErrUnavailable
}

// Unreachable is returned if no server answers. errors.Is matches it with api.ErrUnavailable.
type Unreachable struct {
	Servers []string
	Err     error // error of the first server
}

func (e *Unreachable) Error() string {
	where := strings.Join(e.Servers, ", ")
	if errors.Is(e.Err, syscall.ECONNREFUSED) {
		return fmt.Sprintf("no rota answers at %s: connection refused", where)
	}
	return fmt.Sprintf("no rota answers at %s: %v", where, e.Err)
}

// Unwrap returns the error of the first server.
func (e *Unreachable) Unwrap() error { return e.Err }

// Is implements errors.Is.
func (e *Unreachable) Is(target error) bool { return target == api.ErrUnavailable }

// unreachable returns an Unreachable if err means that no server answered. It returns any other error unchanged.
func (c *Client) unreachable(err error) error {
	if none, ok := errors.AsType[*noAnswer](err); ok {
		return &Unreachable{Servers: c.Servers(), Err: none.Err}
	}
	return err
}

func hasType(res *http.Response, want string) bool {
	got, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && got == want
}
