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
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
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

// Config says how programs are executed. The zero value gives them no variable of the worker.
type Config struct {
	Environ []string      // the worker's own environment, in the form of os.Environ; programs inherit what Inherited allows of it
	Groups  *cgroups.Tree // where resources are limited; the caller closes it; nil: resources cannot be limited
	Refs    *refs.Policy  // which references jobs may use; nil: all
}

// Executor executes the kinds command and shell.
type Executor struct {
	cfg     Config
	now     func() time.Time
	sweeper procs.Sweeper
}

var _ executor.Executor = (*Executor)(nil)

// New returns an executor. It starts nothing.
func New(cfg Config, now func() time.Time) *Executor {
	return &Executor{cfg: cfg, now: now}
}

// Execute runs the program to its end. Exit is its exit code, or 128 plus the number of the signal that killed it.
//
// Every failure asks for another attempt (Outcome.Retry), exit code 75 among them, except what another attempt cannot
// mend: a program that is not there (127) or cannot be executed (126), and a working directory that is not there.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	var (
		resolver = refs.Resolver{Policy: e.cfg.Refs}
		notify   string
	)
	if req.Spec.Heartbeat > 0 {
		address, stop, err := listen(&req)
		if err != nil {
			o := failure(err)
			o.At = e.now()
			return o
		}
		defer stop()
		notify = address
	}
	prog, err := e.program(&req, notify, &resolver)
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
func (e *Executor) program(req *executor.Request, notify string, resolver *refs.Resolver) (program, error) {
	env, err := environment(e.cfg.Environ, req, notify, resolver)
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

	group, err := e.group(req)
	if err != nil {
		w.Close()
		return failure(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	p, err := start(prog, group, w, &wg)
	w.Close()
	if err != nil {
		return failure(errors.Join(startError(prog, err), e.dissolve(group)))
	}
	p.mark, p.sweeper = req.Marker, &e.sweeper
	drained := make(chan struct{})
	wg.Go(func() {
		defer close(drained)
		io.CopyBuffer(onlyWriter{out}, req.Heard(r), make([]byte, 32<<10))
	})

	ended := "" // how, if not of its own accord
	select {
	case <-p.exited:
	case <-ctx.Done():
		if !p.over() { // or else it was faster: its own outcome counts
			ended = p.end(req.Spec.KillGrace.Std(), req.Hurry, out)
		}
	}
	trouble := e.clear(p, group, req.Marker)
	outOfMemory := group != nil && group.OutOfMemory()
	trouble = errors.Join(trouble, e.dissolve(group))
	drain(r, drained)

	o := exitOutcome(p.state())
	if outOfMemory {
		o.State, o.Retry = job.Failed, true
		o.Reason = fmt.Sprintf("killed: out of memory (limit %v)", req.Spec.Resources.Memory)
	}
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

// group makes the cgroup of a job that has limits; nil for one that has none.
func (e *Executor) group(req *executor.Request) (*cgroups.Group, error) {
	res := req.Spec.Resources
	if len(res.Kinds()) == 0 {
		return nil, nil
	}
	return e.cfg.Groups.Make(req.Run.Job, cgroups.Limits{Memory: int64(res.Memory), CPU: int(res.CPU), PIDs: res.PIDs})
}

// dissolve removes an attempt's cgroup, if it has one.
func (e *Executor) dissolve(group *cgroups.Group) error {
	if group == nil {
		return nil
	}
	return group.Remove()
}

// clear kills what the program, which has exited, left behind, and reaps it.
func (e *Executor) clear(p *process, group *cgroups.Group, mark string) error {
	p.signal(syscall.SIGKILL) // while the unreaped program keeps the group's number from being given away
	var err error
	if group != nil {
		err = group.Kill()
	}
	if mark != "" {
		err = errors.Join(err, e.sweeper.Kill(mark))
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

// onlyWriter hides methods by which io.Copy would choose buffers of its own.
type onlyWriter struct{ io.Writer }
