package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The exit codes that mean more than failure, as shells and sysexits.h have them.
const (
	exitTempFail   = 75
	exitCannotExec = 126
	exitNotFound   = 127
	exitSignal     = 128
)

// exitOutcome is what the exit of a program means. s is nil if a Go program around the worker waits for all of its children.
func exitOutcome(s *os.ProcessState) job.Outcome {
	o := job.Outcome{State: job.Failed, Retry: true}
	if s == nil {
		o.Reason = "exit status is unknown: something else in the worker's process took it"
		return o
	}
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok {
		o.Reason = "exit status is unknown: " + s.String()
		return o
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = exitSignal + int(status.Signal())
	}
	o.Exit = &code
	switch {
	case status.Signaled():
		o.Reason = "killed by " + signalName(status.Signal())
		if status.Signal() == syscall.SIGKILL {
			o.Reason += " (out of memory?)"
		}
	case code == 0:
		o.State, o.Retry = job.Succeeded, false
	case code == exitTempFail:
		o.Reason = "exit code 75: asks for a retry"
	case code == exitCannotExec:
		o.Reason, o.Retry = "exit code 126: command cannot be executed", false
	case code == exitNotFound:
		o.Reason, o.Retry = "exit code 127: command not found", false
	default:
		o.Reason = fmt.Sprintf("exit code %d", code)
	}
	return o
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// hopeless is an error that another attempt does not mend.
type hopeless struct {
	code int // 0: no exit code tells it
	text string
}

func (e *hopeless) Error() string { return e.text }

// failure is the outcome of an attempt whose program could not be started. It was not begun where no other could be either.
func failure(err error) job.Outcome {
	if lacking(err) && Trial() != nil {
		return executor.NotBegun(err)
	}
	o := job.Outcome{State: job.Failed, Reason: err.Error(), Retry: true}
	var refused *refs.RefusedError
	if errors.As(err, &refused) {
		o.Retry = false
	}
	var h *hopeless
	if errors.As(err, &h) {
		o.Retry = false
		if h.code != 0 {
			o.Exit = &h.code
		}
	}
	return o
}

// startError says in plain words why the kernel did not start the program.
func startError(prog program, err error) error {
	name := prog.argv[0]
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file was there a moment ago: what its first line names is not
		return &hopeless{exitNotFound, fmt.Sprintf("start %s: the interpreter that it names is not there", name)}
	case errors.Is(err, fs.ErrPermission):
		return &hopeless{exitCannotExec, fmt.Sprintf("start %s: permission denied", name)}
	case errors.Is(err, syscall.ENOEXEC):
		return &hopeless{exitCannotExec, fmt.Sprintf("start %s: not a program for this machine, nor a script that begins with #!", name)}
	case errors.Is(err, syscall.E2BIG):
		return &hopeless{exitCannotExec, fmt.Sprintf("start %s: arguments and environment are too large (the payload is part of them)", name)}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("start %s: %w", name, err)
}

// checkDir says whether dir, "" for the worker's own, can be a working directory.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &hopeless{text: fmt.Sprintf("working directory %s does not exist on this worker", dir)}
	case err != nil:
		return fmt.Errorf("look at working directory: %w", err)
	case !info.IsDir():
		return &hopeless{text: fmt.Sprintf("working directory %s is not a directory", dir)}
	}
	return nil
}

// lookup finds a program: by the PATH that it will see itself, or relative to its working directory if the name has a
// slash.
func lookup(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &hopeless{exitNotFound, "command is empty"}
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
			continue // what runs must not depend on where
		}
		path := filepath.Join(d, name)
		err := executable(name, path)
		if err == nil {
			return path, nil
		}
		switch h := (*hopeless)(nil); {
		case !errors.As(err, &h):
			unknown = cmp.Or(unknown, err)
		case h.code == exitCannotExec:
			denied = cmp.Or(denied, err)
		}
	}
	if err := cmp.Or(unknown, denied); err != nil {
		return "", err
	}
	return "", &hopeless{exitNotFound, fmt.Sprintf("command %s not found in PATH", name)}
}

// executable says what keeps the file at path from being executed.
func executable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &hopeless{exitNotFound, fmt.Sprintf("command %s not found", name)}
	case errors.Is(err, fs.ErrPermission):
		return &hopeless{exitCannotExec, fmt.Sprintf("command %s: permission denied", name)}
	case err != nil: // as of a file server that does not answer
		return fmt.Errorf("look for command %s: %w", name, err)
	case info.IsDir():
		return &hopeless{exitCannotExec, fmt.Sprintf("command %s is a directory", name)}
	case info.Mode()&0o111 == 0:
		return &hopeless{exitCannotExec, fmt.Sprintf("command %s is not executable", name)}
	}
	return nil
}
