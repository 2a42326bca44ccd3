package command

import (
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

// program is what to start.
type program struct {
	path string
	argv []string
	env  []string
	dir  string
}

// process is a started program, the leader of a process group of its own.
type process struct {
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the program has exited; on Linux it is a zombie until reap
	mark    string        // that it and what it starts carry; "": none
	sweeper *procs.Sweeper
	looking chan []int // what a look for those that is under way has found; nil: none is; of end
}

// start starts the program with out as its stdout and stderr, in the cgroup if there is one.
//
// The kernel kills a child with a parent-death signal when the thread ends that forked it, not the process. So the
// goroutine that forks keeps its thread to itself until the program has exited; it would occupy one anyway, waiting.
func start(prog program, group *cgroups.Group, out *os.File, wg *sync.WaitGroup) (*process, error) {
	p := &process{
		cmd: &exec.Cmd{
			Path: prog.path, Args: prog.argv, Env: prog.env, Dir: prog.dir,
			Stdout: out, Stderr: out,
			SysProcAttr: attributes(),
		},
		exited: make(chan struct{}),
	}
	started := make(chan error)
	wg.Go(func() {
		cgroups.OnThread(func() {
			err := group.Start(p.cmd)
			started <- err
			if err == nil {
				p.awaitExit()
				close(p.exited)
			}
		})
	})
	return p, <-started
}

// over says whether the program has exited, also if nobody has noticed yet: we may have been stopped for hours in between.
func (p *process) over() bool {
	select {
	case <-p.exited:
		return true
	default:
	}
	if !p.zombie() {
		return false
	}
	<-p.exited // at once
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

// end ends the group and what has left it: SIGTERM, and SIGKILL when some are left after grace, or soon after hurry. It returns
// once the program has exited, and says how it came to that. A shell dies of SIGTERM at once while what it runs is still putting
// things in order, so the grace is that of all.
func (p *process) end(grace time.Duration, hurry <-chan struct{}, out io.Writer) (how string) {
	family, _ := p.family() // as it is now: what the group starts to put things in order is not to be ended
	ask := func(s syscall.Signal) error {
		return errors.Join(p.signal(s), procs.SignalOutside(p.cmd.Process.Pid, family, p.mark, s))
	}
	if err := ask(syscall.SIGTERM); err != nil {
		fmt.Fprintf(out, "\n[rota: send SIGTERM: %v]\n", err)
	}
	ask(syscall.SIGCONT) // a stopped process does not see SIGTERM
	gone, hurried := p.gone(grace, hurry)
	if gone {
		return ", ended by SIGTERM"
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		fmt.Fprintf(out, "\n[rota: send SIGKILL: %v; waiting for the end of process %d]\n", err, p.cmd.Process.Pid)
	}
	<-p.exited
	if hurried {
		return ", killed by SIGKILL before others may repeat it"
	}
	return fmt.Sprintf(", killed by SIGKILL after %v of grace", grace)
}

// familyPatience is how long a look at all processes may take: less than executor.HurryGrace.
const familyPatience = 200 * time.Millisecond

// family lists the processes that carry the mark, in the group or not. They are not known if the look takes long: the kernel may
// hold it up for a process that waits for a disk, and no signal must wait for that. One look is under way at most.
func (p *process) family() (pids []int, known bool) {
	if p.mark == "" {
		return nil, true
	}
	if p.looking == nil {
		looking := make(chan []int, 1)
		go func() { looking <- p.sweeper.Find(p.mark) }() // ends when the kernel answers
		p.looking = looking
	}
	patience := time.NewTimer(familyPatience)
	defer patience.Stop()
	select {
	case pids = <-p.looking:
		p.looking = nil
		return pids, true
	case <-patience.C:
		return nil, false
	}
}

// How often it is looked whether a group whose first process has exited has ended, and what has left it: soon, and less often the
// longer it lasts, since a look is one at all processes.
const (
	lookSoon  = 20 * time.Millisecond
	lookLater = 500 * time.Millisecond
)

// gone waits for the end of the whole group and of what has left it, for at most grace. Hurried is a wait that hurry has cut short.
func (p *process) gone(grace time.Duration, hurry <-chan struct{}) (gone, hurried bool) {
	ends := time.Now().Add(grace)
	over := time.NewTimer(grace)
	defer over.Stop()
	var look <-chan time.Time // nil until the program has exited
	exited, pause := p.exited, lookSoon
	for {
		select {
		case <-exited:
			exited = nil
		case <-look:
			pause = min(2*pause, lookLater)
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
		look = time.After(pause)
	}
}

// vanish waits until the killed and reaped group is gone, for at most limit. It sends nothing, so that it does no harm
// should the group's number belong to somebody else by now.
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

// reapGroup buries members of the group that became this process's children when their parents died: it does when it
// is process 1 of a container, and nobody else would.
func reapGroup(pgid int) {
	for {
		pid, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// state is how the program exited; valid after reap.
func (p *process) state() *os.ProcessState { return p.cmd.ProcessState }
