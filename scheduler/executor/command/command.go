package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// drainLimit is how long the rest of the output is read after the processes that write it were killed.
	drainLimit = 2 * time.Second
	// vanishLimit is how long the killed processes of a group may take to end. If they take longer, the output says so.
	vanishLimit = 5 * time.Second
)

// Config configures the execution of programs. The zero value gives them no variable of the worker.
type Config struct {
	Environ []string      // the worker's environment, as of os.Environ. Programs inherit a few of them: see passedOn.
	Groups  *cgroups.Tree // where resources are limited. The caller closes it. nil: resources cannot be limited.
	Refs    *refs.Policy  // which references jobs may use; nil: all
	User    *User         // the user of programs; nil: the user of this process
	Outputs string        // directory for the files of outputs, of this process alone; "": one for temporary files
}

// Executor executes the kinds command and shell.
type Executor struct {
	cfg     Config
	now     func() time.Time
	sweeper procs.Sweeper
	outputs outputs
	files   executor.Files
}

var (
	_ executor.Executor = (*Executor)(nil)
	_ executor.Checker  = (*Executor)(nil)
)

// New returns an executor. It starts nothing.
func New(cfg Config, now func() time.Time) *Executor {
	cfg.Environ = cfg.User.environ(cfg.Environ)
	return &Executor{cfg: cfg, now: now, outputs: outputs{dir: cfg.Outputs, user: cfg.User}}
}

// Execute runs the program to its end. Exit is its exit code, or 128 plus the number of the signal that killed it.
//
// Every failure asks for a retry (Outcome.Retry), including exit code 75, unless a retry cannot help. It cannot help if the
// program does not exist (127) or cannot be executed (126), or if the working directory does not exist.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	notify := ""
	if req.Spec.Heartbeat > 0 {
		address, stop, err := listen(&req)
		if err != nil {
			o := failure(e.cfg.User, err)
			o.At = e.now()
			return o
		}
		defer stop()
		notify = address
	}
	if o, ended := executor.Interrupted(ctx, &req, e.now()); ended {
		return o
	}
	p, ok := executor.ReadFiles(ctx, &e.files, req.Run.Job, func() preparation { return e.prepare(&req, notify) })
	if !ok {
		o, _ := executor.Interrupted(ctx, &req, e.now())
		o.Reason += executor.FilesHang
		return o
	}
	out := executor.NewRedactor(req.Output, p.secrets)
	var o job.Outcome
	if p.unable != nil {
		o = executor.KindAway(p.unable)
	} else if p.err != nil {
		o = failure(e.cfg.User, p.err)
	} else if interrupted, ok := executor.Interrupted(ctx, &req, e.now()); ok {
		o = interrupted // the program was not started
	} else {
		o = e.run(ctx, &req, p.program, out)
		o = e.withOutputs(o, p.output)
	}
	o = out.Outcome(o)
	o.At = e.now()
	return o
}

// preparation is what an attempt needs to start its program.
type preparation struct {
	program program
	output  string   // the file for outputs
	secrets []string // the values of references
	unable  error    // why this worker can start no program
	err     error    // why it cannot start this program
}

// prepare prepares an attempt. It starts nothing.
func (e *Executor) prepare(req *executor.Request, notify string) (p preparation) {
	if p.output, p.unable = e.outputs.path(); p.unable != nil {
		return p
	}
	resolver := refs.Resolver{Policy: e.cfg.Refs}
	p.program, p.err = e.program(req, notify, p.output, &resolver)
	p.secrets = resolver.Secrets()
	return p
}

// Check returns nil if programs have a directory for outputs, and their user may start them.
func (e *Executor) Check(context.Context) error {
	path, err := e.outputs.path()
	if err == nil && !e.cfg.User.same() {
		err = errors.Join(os.RemoveAll(filepath.Dir(path)), e.cfg.User.CheckStart())
	}
	return err
}

// withOutputs adds the outputs that the program wrote to the file output. Outputs that cannot be used fail an attempt that
// succeeded. It is not repeated, because its work is done.
func (e *Executor) withOutputs(o job.Outcome, output string) job.Outcome {
	list, err := e.outputs.read(output)
	if err != nil && o.State == job.Succeeded {
		o.State, o.Reason, o.Retry = job.Failed, err.Error(), false
	}
	o.Outputs = list
	return o
}

// program resolves the job's spec into the program to start.
func (e *Executor) program(req *executor.Request, notify, output string, resolver *refs.Resolver) (program, error) {
	env, err := environment(e.cfg.Environ, req, notify, output, resolver)
	if err != nil {
		return program{}, err
	}
	p := program{env: env, dir: req.Spec.Dir, user: e.cfg.User}
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

// run starts the program, waits for its end, and kills the processes that it leaves behind.
func (e *Executor) run(ctx context.Context, req *executor.Request, prog program, out io.Writer) job.Outcome {
	r, w, err := os.Pipe()
	if err != nil {
		return failure(e.cfg.User, fmt.Errorf("make pipe for output: %w", err))
	}
	defer r.Close()

	group, err := e.group(req)
	if err != nil {
		w.Close()
		return failure(e.cfg.User, err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	p, err := startPatiently(ctx, e.cfg.User, func() (*process, error) { return start(prog, group, w, &wg) })
	w.Close()
	if err != nil {
		err = errors.Join(startError(prog, err), e.dissolve(group))
		if o, ended := executor.Interrupted(ctx, req, e.now()); ended {
			return o
		}
		return failure(e.cfg.User, err)
	}
	p.mark, p.sweeper = req.Mark, &e.sweeper
	drained := make(chan struct{})
	wg.Go(func() {
		defer close(drained)
		copyOutput(out, req.ReportReads(r), r)
	})

	ended := "" // how the worker ended the program; "": the program ended by itself
	select {
	case <-p.exited:
	case <-ctx.Done():
		if !p.over() { // if the program has already exited, it has the outcome of its exit
			ended = p.end(req.Spec.KillGrace.Std(), req.Hurry, out)
		}
	}
	trouble := p.leftBehind(ctx, r, drained)
	trouble = errors.Join(trouble, e.clear(p, group, req.Mark))
	outOfMemory := group != nil && group.OutOfMemory()
	trouble = errors.Join(trouble, e.dissolve(group))
	drain(r, drained)

	o := exitOutcome(p.state(), req.Spec.SuccessCodes)
	if outOfMemory {
		o.State, o.Retry = job.Failed, true
		o.Reason = fmt.Sprintf("killed: out of memory (limit %v)", req.Spec.Resources.Memory)
	}
	if interrupted, ok := executor.Interrupted(ctx, req, e.now()); ok && ended != "" {
		interrupted.Exit = o.Exit
		if o.Exit != nil && ended == endedByTerm && *o.Exit != executor.ExitSignal+int(syscall.SIGTERM) {
			ended = fmt.Sprintf(", ended with exit code %d after SIGTERM", *o.Exit)
		}
		interrupted.Reason += ended
		o = interrupted
	}
	if trouble != nil {
		fmt.Fprintf(out, "\n[rota: %v]\n", trouble)
	}
	return o
}

// group creates the cgroup of a job that has limits; nil for a job without limits.
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

// clear kills the processes that the program has left behind, and reaps the program, which has exited.
func (e *Executor) clear(p *process, group *cgroups.Group, mark string) error {
	_ = p.signal(syscall.SIGKILL) // before reap, which releases the number of the program and of its group
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

// drain waits for the end of the output. The output ends at once, unless a process that was not found keeps the pipe open. Then
// drain stops after drainLimit.
func drain(r *os.File, drained <-chan struct{}) {
	late := time.AfterFunc(drainLimit, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	<-drained
}

// lastReads is how many times a pipe is read after drainLimit. A process that was not found may write for ever.
const lastReads = 32

// copyOutput copies the output of a program from a pipe until its end, or until drain stops it. It also copies the bytes that are
// in the pipe by then: a busy machine may not have read them before.
func copyOutput(out io.Writer, from io.Reader, pipe *os.File) {
	buf := make([]byte, 32<<10)
	_, err := io.CopyBuffer(onlyWriter{out}, from, buf)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for range lastReads {
			n, err := unix.Read(int(fd), buf) // does not block
			if n <= 0 || err != nil {
				return
			}
			_, _ = out.Write(buf[:n])
		}
	})
}

// onlyWriter hides all methods except Write, so that io.Copy does not use its own choice of buffers.
type onlyWriter struct{ io.Writer }
