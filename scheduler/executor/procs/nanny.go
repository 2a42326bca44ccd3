package procs

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// nannyStop is how long a nanny may take to end after its worker has closed its stdin.
const nannyStop = 30 * time.Second

// Nanny is the main function of the process that StartNanny starts. It waits for the end of stdin, which comes when the worker
// ends, even by SIGKILL. Then it kills every process with the worker's mark, and returns when all have ended. It ignores the
// signals that stop a worker, because its work begins after the worker's end.
func Nanny(stdin io.Reader, life string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	_, _ = io.Copy(io.Discard, stdin)
	// Two clean scans are needed: a process between fork and exec has no mark yet.
	for clean := 0; clean < 2; {
		if err := killAll([]string{life}, true); err == nil {
			clean++
		} else if checkMark(life) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// StartNanny starts exe with args, a process that calls Nanny(os.Stdin, life). It runs in its own session, so that a signal to
// the worker's group does not reach it. stop makes the nanny kill all processes that are left, and waits for its end for at
// most nannyStop. Call stop after the worker's attempts have ended.
func StartNanny(exe string, args []string, life string) (stop func(), err error) {
	if err := checkMark(life); err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// If this worker is itself a job of another worker, its environment has the mark of that job. The nanny must not inherit the
	// mark: the other worker kills all processes that have it.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, Env+"=") })
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start nanny: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start nanny: %w", err)
	}
	var once sync.Once
	return func() {
		once.Do(func() {
			leash.Close()
			last := time.AfterFunc(nannyStop, func() { _ = cmd.Process.Kill() })
			defer last.Stop()
			_ = cmd.Wait()
		})
	}, nil
}
