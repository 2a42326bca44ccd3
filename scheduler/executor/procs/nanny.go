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

// nannyStop is how long a nanny may take to end once its worker has let go of it.
const nannyStop = 30 * time.Second

// Nanny is the body of the process that StartNanny starts. It waits for the end of stdin, which comes when the worker
// ends, however it does, then kills every process marked with the worker's session, and returns when none is left.
// Signals that ask a worker to stop do not end it, since it has work to do after the worker.
func Nanny(stdin io.Reader, session string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	io.Copy(io.Discard, stdin)
	// A process may be on its way between fork and exec while the first look is taken, and carry no mark yet.
	for clean := 0; clean < 2; {
		if err := KillMarked(session); err == nil {
			clean++
		} else if checkMark(session) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// StartNanny starts exe with args, a process that calls Nanny(os.Stdin, session), in a session of its own, so that
// nothing that ends the worker ends it. Stop lets it end what is left and waits for it, at most half a minute; call it
// once the worker's attempts have ended.
func StartNanny(exe string, args []string, session string) (stop func(), err error) {
	if err := checkMark(session); err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A worker that is itself a job of another one has a mark, and must not die of it together with its nanny.
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
			last := time.AfterFunc(nannyStop, func() { cmd.Process.Kill() })
			defer last.Stop()
			cmd.Wait()
		})
	}, nil
}
