package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// replica is one child process of `rota dev`.
type replica struct {
	name    string
	self    string
	args    []string
	environ []string
	cli     *cli
	drained *sync.WaitGroup // counts the replicas that still need the majority of etcd
	all     <-chan struct{} // closed when that count is zero
	once    sync.Once       // counts this replica as drained

	mu  sync.Mutex
	cmd *exec.Cmd // guarded by mu; nil while no process runs
}

// The times of a child process.
const (
	restartPause = time.Second              // between its death and its restart
	drainGrace   = devGrace + 5*time.Second // for all replicas to drain
	exitGrace    = 5 * time.Second          // for the process to exit after that
	firstStart   = 3 * time.Second          // if the first process dies within this time, `rota dev` fails
)

// run runs the replica until ctx ends, and restarts it after its death. It fails if the first process dies at once.
func (r *replica) run(ctx context.Context) error {
	defer r.once.Do(r.drained.Done)
	for first := true; ctx.Err() == nil; first = false {
		started := time.Now()
		err := r.runOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if first && time.Since(started) < firstStart {
			code := exitFailed
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() > 0 {
				code = exit.ExitCode()
			}
			return &codedError{code, "", fmt.Errorf("start replica %s: %w", r.name, err)}
		}
		r.cli.printErr("replica %s ended (%v), restarting it", r.name, err)
		if sleep(ctx, restartPause) != nil {
			return nil
		}
	}
	return nil
}

// runOnce runs the process until the process ends or ctx ends. After the end of ctx, no replica leaves etcd before all have
// drained. Otherwise etcd would lose its majority, and the others could not record the outcomes of their attempts.
func (r *replica) runOnce(ctx context.Context) error {
	cmd := exec.Command(r.self, r.args...)
	cmd.Env, cmd.Stderr = r.environ, r.cli.lines.to
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only this process, which signals the children
	leash, err := cmd.StdinPipe()                         // the pipe closes if this process dies, and then the replica ends
	if err != nil {
		return err
	}
	defer leash.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.cli.printErr("replica %s is process %d", r.name, cmd.Process.Pid)
	r.setProcess(cmd)
	defer r.setProcess(nil)
	ended := make(chan error, 1)
	go func() { // ends with the process; every return below waits for it
		if line, _ := bufio.NewReader(stdout).ReadString('\n'); line == drainedLine {
			r.once.Do(r.drained.Done)
		}
		_, _ = io.Copy(io.Discard, stdout)
		ended <- cmd.Wait()
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	r.signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-r.all:
	case <-time.After(drainGrace):
	}
	leash.Close()
	select {
	case err := <-ended:
		return err
	case <-time.After(exitGrace):
		r.signal(syscall.SIGKILL)
		return <-ended
	}
}

func (r *replica) setProcess(cmd *exec.Cmd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cmd = cmd
}

func (r *replica) signal(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(sig) // an error means that the process has ended
	}
}
