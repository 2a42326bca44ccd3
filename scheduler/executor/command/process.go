package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/procs"
)

// program is a program to start.
type program struct {
	path string
	argv []string
	env  []string
	dir  string
	user *User // nil: the user of this process
}

// process is a started program, the leader of its own process group.
type process struct {
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the program has exited; on Linux it stays a zombie until reap
	mark    string        // the mark of the program and its descendants; "": none
	sweeper *procs.Sweeper
	finding chan found // result of the search for marked processes; nil: none is under way. Used only by family
}

// start starts the program, with out as its stdout and stderr, in the cgroup if there is one.
//
// The kernel kills a child with a parent-death signal when the thread that forked it ends, not the process. So the
// goroutine that forks keeps its thread until the program has exited. It would block a thread for that wait anyway.
func start(prog program, group *cgroups.Group, out *os.File, wg *sync.WaitGroup) (*process, error) {
	p := &process{
		cmd: &exec.Cmd{
			Path: prog.path, Args: prog.argv, Env: prog.env, Dir: prog.dir,
			Stdout: out, Stderr: out,
			SysProcAttr: prog.user.attributes(attributes()),
		},
		exited: make(chan struct{}),
	}
	if !prog.user.same() {
		_ = out.Chown(prog.user.UID, prog.user.GID) // for programs that open /dev/stdout; others do not need it
	}
	started := make(chan error)
	wg.Go(func() {
		cgroups.OnThread(func() {
			err := startAs(p.cmd, group.Start)
			started <- err
			if err == nil {
				p.awaitExit()
				close(p.exited)
			}
		})
	})
	return p, <-started
}

// While only this program cannot be started, its start is tried again after growing pauses, which together last most of a second.
const (
	firstStartPause = 20 * time.Millisecond
	lastStartPause  = 400 * time.Millisecond
)

// startPatiently calls start, which starts the program as user u. A shortage may last for a moment, and a program that is just
// being written cannot be executed. Such a job must not fail.
func startPatiently(ctx context.Context, u *User, start func() (*process, error)) (*process, error) {
	for pause := firstStartPause; ; pause *= 2 {
		p, err := start()
		again := errors.Is(err, syscall.ETXTBSY) || isShortage(err) && u.CheckStart() == nil
		if !again || pause > lastStartPause {
			return p, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// over reports whether the program has exited. It also asks the kernel: if this process was suspended, p.exited may be out of
// date.
func (p *process) over() bool {
	select {
	case <-p.exited:
		return true
	default:
	}
	if !p.zombie() {
		return false
	}
	<-p.exited // closed soon
	return true
}

// signal sends a signal to the group.
func (p *process) signal(s syscall.Signal) error {
	err := syscall.Kill(-p.cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// kill sends SIGKILL to the group, and to the program itself, which may have joined another group.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	if alone := p.cmd.Process.Kill(); !errors.Is(alone, os.ErrProcessDone) {
		err = errors.Join(err, alone)
	}
	return err
}

// end ends the group and the processes that have left it: by SIGTERM, and by SIGKILL if some are left after grace, or soon
// after hurry. It returns when the program has exited, and says how it ended; "" if the program exited before it got a signal. All
// processes get the grace, because a shell dies of SIGTERM at once while its children still clean up.
func (p *process) end(grace time.Duration, hurry <-chan struct{}, out io.Writer) (how string) {
	family, _ := p.family() // the processes that exist now; a process that the group starts later to clean up gets no signal
	if p.over() {           // during the search, before it got a signal: it has the outcome of its exit
		return ""
	}
	ask := func(s syscall.Signal) error {
		return errors.Join(p.signal(s), procs.SignalOutside(p.cmd.Process.Pid, family, p.mark, s))
	}
	if err := ask(syscall.SIGTERM); err != nil {
		fmt.Fprintf(out, "\n[rota: send SIGTERM: %v]\n", err)
	}
	_ = ask(syscall.SIGCONT) // a stopped process does not receive SIGTERM
	gone, hurried := p.gone(grace, hurry)
	if gone {
		return endedByTerm
	}
	if err := p.kill(); err != nil {
		fmt.Fprintf(out, "\n[rota: send SIGKILL: %v; waiting for the end of process %d]\n", err, p.cmd.Process.Pid)
	}
	<-p.exited
	if hurried {
		return ", killed by SIGKILL before others may repeat it"
	}
	return fmt.Sprintf(", killed by SIGKILL after %v of grace", grace)
}

// endedByTerm is how a process ended that was gone soon after SIGTERM.
const endedByTerm = ", ended by SIGTERM"

// familyTimeout is how long the search for processes may take. It is shorter than executor.HurryGrace.
const familyTimeout = 200 * time.Millisecond

// found is the result of a search for marked processes.
type found struct {
	pids []int
	err  error // why pids may be incomplete
}

// family returns the processes with the mark, inside and outside of the group. known is false if the search fails or takes too
// long. In the kernel, a process that waits for a disk can delay the search, and signals must not wait for that. At most one search
// is under way.
func (p *process) family() (pids []int, known bool) {
	if p.mark == "" {
		return nil, true
	}
	if p.finding == nil {
		finding := make(chan found, 1)
		go func() { // ends when the kernel answers
			pids, err := p.sweeper.Find(p.mark)
			finding <- found{pids, err}
		}()
		p.finding = finding
	}
	select {
	case f := <-p.finding:
		p.finding = nil
		return f.pids, f.err == nil
	case <-time.After(familyTimeout):
		return nil, false
	}
}

// After the program has exited, the group is polled at growing intervals, since each poll reads all processes of the machine.
const (
	firstPoll = 20 * time.Millisecond
	maxPoll   = 500 * time.Millisecond
)

// gone waits until the whole group and the processes that have left it have ended, for at most grace. hurried reports that the
// closing of hurry has shortened the wait.
func (p *process) gone(grace time.Duration, hurry <-chan struct{}) (gone, hurried bool) {
	ends := time.Now().Add(grace)
	over := time.NewTimer(grace)
	defer over.Stop()
	var poll <-chan time.Time // nil until the program has exited
	exited, pause := p.exited, firstPoll
	for {
		select {
		case <-exited:
			exited = nil
		case <-poll:
			pause = min(2*pause, maxPoll)
		case <-hurry:
			hurry = nil
			if left := time.Until(ends); left > executor.HurryGrace {
				hurried = true
				over.Reset(executor.HurryGrace)
			}
			continue
		case <-over.C:
			return false, hurried
		}
		if !procs.Alive(p.cmd.Process.Pid) {
			if left, known := p.family(); known && len(left) == 0 {
				return true, hurried
			}
		}
		poll = time.After(pause)
	}
}

// vanish waits until all processes of the group have ended, for at most limit. Before the call, the group was killed and
// reaped. vanish sends no signal, because the number of the group may already belong to a new group.
func (p *process) vanish(limit time.Duration) error {
	pgid := p.cmd.Process.Pid
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		reapGroup(pgid)
		if err := syscall.Kill(-pgid, 0); errors.Is(err, syscall.ESRCH) || waited > 0 && !procs.Alive(pgid) {
			return nil
		}
		if waited >= limit {
			return fmt.Errorf("process group %d is still there %v after SIGKILL", pgid, limit)
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// reapGroup reaps members of the group that became children of this process when their parents died. The kernel makes them its
// children if this process is process 1 of a container.
func reapGroup(pgid int) {
	for {
		pid, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// state returns how the program exited. It is valid after reap.
func (p *process) state() *os.ProcessState { return p.cmd.ProcessState }
