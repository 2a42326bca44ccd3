package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnavailable = 5
	exitBadConfig   = 78 // EX_CONFIG of sysexits.h
	exitTimedOut    = 124
	exitSignal      = 128 // plus the signal's number
)

// usageError is a command line that makes no sense.
type usageError struct {
	msg  string
	hint string // "": the command's help is pointed out
}

func (e usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return usageError{msg: fmt.Sprintf(format, args...)} }

// codedError ends the process with a code of its own.
type codedError struct {
	code int
	hint string // may be empty
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// interrupted is the cause with which a signal cancels the context.
type interrupted struct{ signal syscall.Signal }

func (e interrupted) Error() string { return "interrupted" }

// exitCode is what the process says to its caller about err.
func exitCode(ctx context.Context, err error) int {
	var (
		signal interrupted
		coded  *codedError
		usage  usageError
		files  config.Errors
		when   *schedule.Error
		answer *client.Error
	)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &signal):
		return exitSignal + int(signal.signal)
	case errors.Is(err, syscall.EPIPE):
		return exitSignal + int(syscall.SIGPIPE)
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &files), errors.As(err, &when), node.IsConfig(err):
		return exitBadConfig
	case errors.Is(err, job.ErrNotFound):
		return exitNotFound
	case errors.Is(err, job.ErrConflict):
		return exitConflict
	case errors.Is(err, api.ErrUnavailable), errors.Is(err, job.ErrFull):
		return exitUnavailable
	case errors.As(err, &answer):
		return codeOf(answer)
	}
	return exitFailed
}

// codeOf tells the refusals apart that have no sentinel.
func codeOf(e *client.Error) int {
	switch {
	case e.Foreign:
		return exitUnavailable // the cluster is not where it was looked for
	case e.Status == http.StatusUnprocessableEntity && len(e.Fields) == 0:
		return exitConflict // an idempotency key that belongs to other work
	case e.Status == http.StatusUnprocessableEntity, e.Status == http.StatusBadRequest:
		return exitUsage
	}
	return exitFailed
}

// report tells people what went wrong, and what to do about it.
func (c *cli) report(err error, command string) {
	var (
		coded  *codedError
		usage  usageError
		files  config.Errors
		answer *client.Error
	)
	msg, hint := err.Error(), ""
	switch {
	case errors.Is(err, syscall.EPIPE):
		return // the reader of our output has gone, and knows
	case errors.As(err, &usage):
		hint = usage.hint
		if hint == "" {
			hint = fmt.Sprintf("`%s --help` shows how it is used", command)
		}
	case errors.As(err, &files):
		// The places come first on their lines, so that editors find them.
		c.note("%v", files)
		msg = counted(len(files), "mistake") + " found"
	case scheduleHint(err) != "":
		msg, hint = scheduleText(err), scheduleHint(err)
	case errors.As(err, &coded):
		hint = coded.hint
	case errors.As(err, &answer) && answer.RetryAfter > 0:
		hint = fmt.Sprintf("ask again in %s", answer.RetryAfter)
	}
	c.note("rota: %s", indented(msg))
	if hint != "" {
		c.note("hint: %s", hint)
	}
}

// scheduleHint is the advice of the only reason for which a schedule was refused, "" if there is none.
func scheduleHint(err error) string {
	if one := onlyReason(err); one != nil {
		return one.Hint
	}
	return ""
}

// onlyReason is the reason for which a schedule was refused; nil if err is something else, and if there are several.
func onlyReason(err error) *schedule.Error {
	var one *schedule.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 1 || !errors.As(err, &one) {
		return nil
	}
	return one
}

// scheduleText is that reason without its advice.
func scheduleText(err error) string {
	var one *schedule.Error
	errors.As(err, &one)
	bare := *one
	bare.Hint = ""
	return strings.Replace(err.Error(), one.Error(), bare.Error(), 1)
}

// indented keeps the further lines of a message visibly its own.
func indented(msg string) string { return strings.ReplaceAll(msg, "\n", "\n      ") }

// counted is "1 job", "2 jobs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
