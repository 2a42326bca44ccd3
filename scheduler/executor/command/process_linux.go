package command

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the program has exited. The program stays a zombie until reap. So its number, which is also the number
// of its group, stays reserved until then.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// zombie reports whether the program has exited and was not reaped.
func (p *process) zombie() bool {
	var found unix.Siginfo // stays empty if no child has exited
	err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &found, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && found.Signo != 0
}

// reap reads the exit status.
func (p *process) reap() { _ = p.cmd.Wait() }
