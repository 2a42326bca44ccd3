package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// drainLimit is how long the rest of the output is read once everything that could write it should be dead.
	drainLimit = 2 * time.Second
	// vanishLimit is how long the killed rest of a group may take to vanish before the outcome says so.
	vanishLimit = 5 * time.Second
)

// Executor executes the kinds command and shell.
type Executor struct {
	environ []string
	now     func() time.Time
	sweeper procs.Sweeper
}

var _ executor.Executor = (*Executor)(nil)

// New returns an executor whose programs inherit what Inherited allows of environ, which is the worker's own
// environment in the form of os.Environ.
func New(environ []string, now func() time.Time) *Executor {
	return &Executor{environ: environ, now: now}
}

// Execute runs the program to its end. Exit is its exit code, or 128 plus the number of the signal that killed it.
//
// Every failure asks for another attempt (Outcome.Retry), exit code 75 among them, except what another attempt cannot
// mend: a program that is not there (127) or cannot be executed (126), and a working directory that is not there.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	var resolver refs.Resolver
	prog, err := e.program(&req, &resolver)
	out := executor.NewRedactor(req.Output, resolver.Secrets())
	o := job.Outcome{State: job.Failed}
	if err != nil {
		o = failure(err)
	} else if interrupted, ok := executor.Interrupted(ctx, &req, e.now()); ok {
		o = interrupted // it was never begun
	} else {
		o = e.run(ctx, &req, prog, out)
	}
	out.Flush()
	o.At, o.Reason = e.now(), out.String(o.Reason)
	return o
}

// program resolves what the job says into what the kernel is told.
func (e *Executor) program(req *executor.Request, resolver *refs.Resolver) (program, error) {
	env, err := environment(e.environ, req, resolver)
	if err != nil {
		return program{}, err
	}
	p := program{env: env, dir: req.Spec.Dir}
	if err := checkDir(p.dir); err != nil {
		return program{}, err
	}
	if req.Spec.Kind() == "shell" {
		p.path, p.argv = "/bin/sh", []string{"/bin/sh", "-c", req.Spec.Shell}
		return p, nil
	}
	for _, arg := range req.Spec.Command {
		arg, err := resolver.Expand(arg)
		if err != nil {
			return program{}, err
		}
		p.argv = append(p.argv, arg)
	}
	p.path, err = lookup(p.argv[0], p.dir, env)
	return p, err
}

// run starts the program, sees it to its end, and removes what it leaves.
func (e *Executor) run(ctx context.Context, req *executor.Request, prog program, out io.Writer) job.Outcome {
	r, w, err := os.Pipe()
	if err != nil {
		return failure(fmt.Errorf("make pipe for output: %w", err))
	}
	defer r.Close()

	var wg sync.WaitGroup
	defer wg.Wait()
	p, err := start(prog, w, &wg)
	w.Close()
	if err != nil {
		return failure(startError(prog, err))
	}
	drained := make(chan struct{})
	wg.Go(func() {
		defer close(drained)
		io.CopyBuffer(onlyWriter{out}, onlyReader{r}, make([]byte, 32<<10))
	})

	ended := "" // how, if not of its own accord
	select {
	case <-p.exited:
	case <-ctx.Done():
		select {
		case <-p.exited: // it was faster: its own outcome counts
		default:
			ended = p.end(req.Spec.KillGrace.Std(), out)
		}
	}
	trouble := e.clear(p, req.Marker)
	drain(r, drained)

	o := exitOutcome(p.state())
	if interrupted, ok := executor.Interrupted(ctx, req, e.now()); ok && ended != "" {
		interrupted.Exit = o.Exit
		interrupted.Reason += ended
		o = interrupted
	}
	if trouble != nil {
		fmt.Fprintf(out, "\n[rota: %v]\n", trouble)
	}
	return o
}

// clear kills what the program, which has exited, left behind, and reaps it.
func (e *Executor) clear(p *process, mark string) error {
	p.signal(syscall.SIGKILL) // while the unreaped program keeps the group's number from being given away
	var err error
	if mark != "" {
		err = e.sweeper.Kill(mark)
	}
	p.reap()
	return errors.Join(err, p.vanish(vanishLimit))
}

// drain waits for the end of the output. It comes at once, unless a process that was not found has the pipe open.
func drain(r *os.File, drained <-chan struct{}) {
	late := time.AfterFunc(drainLimit, func() { r.SetReadDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	<-drained
}

// onlyReader and onlyWriter hide methods by which io.Copy would choose buffers of its own.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
