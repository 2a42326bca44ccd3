package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
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
	exitWaiting     = 6  // the wait ended before the run
	exitAttention   = 7  // something needs attention
	exitBadConfig   = 78 // EX_CONFIG of sysexits.h
	exitTimedOut    = 124
	exitSignal      = 128 // plus the signal's number
)

// usageError reports an invalid command line.
type usageError struct {
	msg  string
	hint string // "": the hint refers to the help of the command
}

func (e usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return usageError{msg: fmt.Sprintf(format, args...)} }

// codedError sets the exit code of the process.
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

// exitCode returns the exit code of the process for err. The cause of ctx shows whether a signal ended the command.
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
	case readerGone(err):
		return exitSignal + int(syscall.SIGPIPE)
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &files), errors.As(err, &when), failure.IsConfig(err):
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

// readerGone reports whether nobody reads the output of this command any more. A connection to a server can break in the same way.
func readerGone(err error) bool {
	_, connection := errors.AsType[*net.OpError](err)
	return errors.Is(err, syscall.EPIPE) && !connection
}

// codeOf returns the exit code for an error answer that matches no sentinel error.
func codeOf(e *client.Error) int {
	switch {
	case e.Foreign: // another program answers at this address
		return exitUnavailable
	case e.Status == http.StatusTooManyRequests:
		return exitUnavailable
	case e.Status == http.StatusUnprocessableEntity && len(e.Fields) == 0:
		return exitConflict // the idempotency key belongs to another run
	case e.Status == http.StatusUnprocessableEntity, e.Status == http.StatusBadRequest:
		return exitUsage
	}
	return exitFailed
}

// report prints an error and a hint.
func (c *cli) report(err error, command string) {
	var (
		coded  *codedError
		usage  usageError
		files  config.Errors
		signal interrupted
	)
	msg, hint := err.Error(), ""
	switch why := onlyReason(err); {
	case c.watching && errors.As(err, &signal):
		return // a signal is the usual end of it
	case readerGone(err):
		return
	case errors.Is(err, errAttention):
		return // the output says it
	case errors.As(err, &usage):
		hint = usage.hint
		if hint == "" {
			hint = fmt.Sprintf("run `%s --help`", command)
		}
	case errors.As(err, &files):
		// Each line begins with file and line number, so that editors find the mistake.
		c.printErr("%v", files)
		msg = counted(len(files), "mistake") + " found"
	case why != nil && why.Hint != "":
		bare := *why
		bare.Hint, hint = "", why.Hint
		msg = strings.Replace(msg, why.Error(), bare.Error(), 1)
	case errors.As(err, &coded) && coded.hint != "":
		hint = coded.hint
	case rejectsToken(err) && cmp.Or(c.cert, c.getenv("ROTA_CERT")) != "":
		msg += ", or proves another principal than the certificate"
		hint = "name either a token or a certificate, not both"
	default:
		hint = answerHint(err)
		if command == "rota status" { // it has just not said it
			hint = strings.Replace(hint, "`rota status`", "`rota health --ready`", 1)
		}
	}
	c.printErr("rota: %s", indented(withoutGo(msg)))
	if hint != "" {
		c.printErr("hint: %s", hint)
	}
}

// onlyReason returns the error of a schedule if err contains exactly one. It returns nil for several of them, and for errors of
// another kind.
func onlyReason(err error) *schedule.Error {
	var one *schedule.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 1 || !errors.As(err, &one) {
		return nil
	}
	return one
}

// indented indents every line except the first.
func indented(msg string) string { return strings.ReplaceAll(msg, "\n", "\n      ") }

// counted formats a number with its noun: "1 job", "2 jobs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
