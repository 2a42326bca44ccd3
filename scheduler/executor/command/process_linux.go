package command

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the program has exited, and leaves it a zombie: its number, which is its group's, belongs to
// nobody else until reap.
func (p *process) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// zombie says whether the program has exited and was not reaped.
func (p *process) zombie() bool {
	var found unix.Siginfo // stays empty if there is nothing to wait for
	err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &found, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && found.Signo != 0
}

// reap takes the exit status.
func (p *process) reap() { p.cmd.Wait() }
