package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// exitOutcome returns the outcome of a program's exit. success lists the exit codes that mean success; nil: 0. A program that a
// signal ended never succeeds. s is nil if the status was lost, because the program that contains the worker reaps all its
// children.
func exitOutcome(s *os.ProcessState, success []int) job.Outcome {
	o := job.Outcome{State: job.Failed, Retry: true}
	if s == nil {
		o.Reason = "exit status is unknown: something else in the worker's process took it"
		return o
	}
	status, ok := s.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		o.Reason = "exit status is unknown: " + s.String()
	case status.Signaled():
		code := executor.ExitSignal + int(status.Signal())
		o.Exit, o.Reason = &code, "killed by "+signalName(status.Signal())
		if status.Signal() == syscall.SIGKILL {
			o.Reason += " (out of memory?)"
		}
	default:
		return executor.ExitOutcome(status.ExitStatus(), success)
	}
	return o
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// permanentError is an error that a retry cannot repair.
type permanentError struct {
	code int // exit code that reports the error; 0: there is none
	text string
}

func (e *permanentError) Error() string { return e.text }

// failure returns the outcome of an attempt whose program could not be started as user u. If the worker has no descriptor for it,
// or no program of the user can be started now, the attempt has not begun.
func failure(u *User, err error) job.Outcome {
	short := isShortage(err) && u.CheckStart() != nil
	switch {
	case executor.NoDescriptor(err) || short && CheckStart() != nil:
		return executor.NotBegun(err)
	case short: // other kinds of attempts need no process of the user
		return executor.KindAway(err)
	}
	o := job.Outcome{State: job.Failed, Reason: err.Error(), Retry: true}
	if _, ok := errors.AsType[*refs.RefusedError](err); ok {
		o.Retry = false
	}
	if h, ok := errors.AsType[*permanentError](err); ok {
		o.Retry = false
		if h.code != 0 {
			o.Exit = &h.code
		}
	}
	return o
}

// shortages are the errors of a machine that lacks processes, memory, descriptors or room on a disk.
var shortages = []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT}

func isShortage(err error) bool {
	return slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) })
}

// startError describes in plain words why the kernel refused to start the program. err is the error of the kernel.
func startError(prog program, err error) error {
	name := prog.argv[0]
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file exists, so the interpreter in its first line does not
		return &permanentError{executor.ExitNotFound, fmt.Sprintf("start %s: the interpreter that it names is not there", name)}
	case errors.Is(err, fs.ErrPermission):
		return &permanentError{executor.ExitCannotExec, fmt.Sprintf("start %s: permission denied%s", name, prog.user.denied())}
	case errors.Is(err, syscall.ENOEXEC):
		text := fmt.Sprintf("start %s: neither a program for this machine nor a script with #!", name)
		return &permanentError{executor.ExitCannotExec, text}
	case errors.Is(err, syscall.E2BIG):
		text := fmt.Sprintf("start %s: arguments and environment, which include the payload, are too large", name)
		return &permanentError{executor.ExitCannotExec, text}
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("start %s: %w", name, err)
}

// checkDir returns why dir cannot be a working directory. "" is the worker's own.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &permanentError{text: fmt.Sprintf("working directory %s does not exist on this worker", dir)}
	case err != nil:
		return fmt.Errorf("check working directory: %w", err)
	case !info.IsDir():
		return &permanentError{text: fmt.Sprintf("working directory %s is not a directory", dir)}
	}
	return nil
}

// lookup finds a program. It searches the program's own PATH. If the name has a slash, it is relative to the working directory
// of the program.
func lookup(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &permanentError{executor.ExitNotFound, "command is empty"}
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return name, executable(name, path)
	}
	var denied, unknown error
	for _, d := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue // the program must not depend on the working directory
		}
		path := filepath.Join(d, name)
		err := executable(name, path)
		if err == nil {
			return path, nil
		}
		switch h := (*permanentError)(nil); {
		case !errors.As(err, &h):
			unknown = cmp.Or(unknown, err)
		case h.code == executor.ExitCannotExec:
			denied = cmp.Or(denied, err)
		}
	}
	if err := cmp.Or(unknown, denied); err != nil {
		return "", err
	}
	return "", &permanentError{executor.ExitNotFound, fmt.Sprintf("command %s not found in PATH", name)}
}

// executable returns an error if the file at path cannot be executed.
func executable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &permanentError{executor.ExitNotFound, fmt.Sprintf("command %s not found", name)}
	case errors.Is(err, fs.ErrPermission):
		return &permanentError{executor.ExitCannotExec, fmt.Sprintf("command %s: permission denied", name)}
	case err != nil: // for example, a file server does not answer
		return fmt.Errorf("look for command %s: %w", name, err)
	case info.IsDir():
		return &permanentError{executor.ExitCannotExec, fmt.Sprintf("command %s is a directory", name)}
	case info.Mode()&0o111 == 0:
		return &permanentError{executor.ExitCannotExec, fmt.Sprintf("command %s is not executable", name)}
	}
	return nil
}
