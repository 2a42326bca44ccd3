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

// reap takes the exit status.
func (p *process) reap() { p.cmd.Wait() }
