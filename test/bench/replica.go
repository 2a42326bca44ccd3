package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

// single is one replica in a process of its own, so that its costs can be measured.
type single struct {
	member

	environ []string // its settings
}

func alone() benchmark {
	return benchmark{
		name: "replica", usage: "only a replica of another benchmark, until the standard input ends",
		flags: func(*flag.FlagSet) {},
		run:   runAlone,
	}
}

func runAlone(ctx context.Context, o *options) error {
	set, err := config.LoadSettings("", nil, os.Environ())
	if err != nil {
		return err
	}
	log := io.Discard
	if o.verbose {
		log = os.Stderr
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the parent, or with this process
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	err = node.Run(ctx, node.Config{
		Settings: set,
		Handlers: map[string]handler.Func{handlerName: func(context.Context, handler.Task) error { return nil }},
	}, hclog.New(&hclog.LoggerOptions{Name: set.Node.Name, Level: hclog.Info, Output: log}))
	return errors.Join(err, o.heapProfile())
}

// process is a running replica.
type process struct {
	single

	cmd   *exec.Cmd
	end   io.Closer
	ended chan struct{} // closed when the process has ended; then err says how
	err   error
}

// spawn starts a replica.
func (s single) spawn(ctx context.Context, o *options) (*process, error) {
	args := []string{"replica"}
	if o.verbose {
		args = append(args, "-v")
	}
	if o.heap != "" {
		args = append(args, "-heapprofile", o.heap+"-"+s.name)
	}
	p := &process{single: s, cmd: exec.CommandContext(ctx, os.Args[0], args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), s.environ...)
	var err error
	if p.end, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // stop waits for it
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the replica in good order.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	err := p.end.Close()
	if errors.Is(err, os.ErrClosed) { // Wait has closed it
		err = nil
	}
	<-p.ended
	return errors.Join(err, p.err)
}

// await polls a path of the replica until the answer is 200.
func (p *process) await(ctx context.Context, path string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+path, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return fmt.Errorf("await %s of %s: the replica ended", path, p.name)
		case <-ctx.Done():
			return fmt.Errorf("await %s of %s: %w", path, p.name, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// report prints the memory of the replica: now, and the most since the last report.
func (p *process) report(what string) {
	pid := p.cmd.Process.Pid
	say(what, "%.0f MiB of its own, %.0f of files, at most %.0f together",
		memoryOf(pid, "RssAnon"), memoryOf(pid, "RssFile"), memoryOf(pid, "VmHWM"))
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // resets VmHWM
}
