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

// replica is one child process.
type replica struct {
	name    string
	self    string
	args    []string
	env     []string
	cli     *cli
	drained *sync.WaitGroup // counts the replicas that still need etcd's majority in order to end
	all     <-chan struct{} // closed when that count is zero
	once    sync.Once       // of being counted off

	mu  sync.Mutex
	cmd *exec.Cmd // guarded by mu: while it runs
}

// How a child that died is started again, how long one has to drain and then to end, and how soon a first start that
// fails is final.
const (
	restartPause = time.Second
	drainGrace   = devGrace + 5*time.Second
	childGrace   = 5 * time.Second
	firstStart   = 3 * time.Second
)

// run keeps the replica running until ctx ends. A first start that fails at once is an error.
func (r *replica) run(ctx context.Context) error {
	defer r.once.Do(r.drained.Done)
	for first := true; ctx.Err() == nil; first = false {
		began := time.Now()
		err := r.live(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if first && time.Since(began) < firstStart {
			code := exitFailed
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() > 0 {
				code = exit.ExitCode()
			}
			return &codedError{code, "", fmt.Errorf("replica %s could not start: %w", r.name, err)}
		}
		r.cli.note("replica %s ended (%v), starting it again", r.name, err)
		if sleep(ctx, restartPause) != nil {
			return nil
		}
	}
	return nil
}

// live runs the replica until it ends, or ctx does. Then all replicas drain before the first of them leaves etcd, since
// without a majority the others could not write down how their attempts ended.
func (r *replica) live(ctx context.Context) error {
	cmd := exec.Command(r.self, r.args...)
	cmd.Env, cmd.Stderr = r.env, r.cli.lines.to
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches us alone, and we tell them
	leash, err := cmd.StdinPipe()                         // if we die, it ends, and the replica with it
	if err != nil {
		return fmt.Errorf("start replica %s: %w", r.name, err)
	}
	defer leash.Close()
	news, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start replica %s: %w", r.name, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start replica %s: %w", r.name, err)
	}
	r.cli.note("replica %s is process %d", r.name, cmd.Process.Pid)
	r.setProcess(cmd)
	defer r.setProcess(nil)
	ended := make(chan error, 1)
	go func() { // ends with the process, which every way out of here waits for
		if line, _ := bufio.NewReader(news).ReadString('\n'); line == drainedLine {
			r.once.Do(r.drained.Done)
		}
		_, _ = io.Copy(io.Discard, news)
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
	case <-time.After(childGrace):
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
		_ = r.cmd.Process.Signal(sig) // one that has ended needs none
	}
}
