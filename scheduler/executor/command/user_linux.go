package command

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// needed are the capabilities that a worker needs for programs of another user. With CAP_SYS_PTRACE it reads the marks of
// processes, to find those that have left their group.
var needed = []struct {
	bit  uint
	name string
}{
	{unix.CAP_SETUID, "CAP_SETUID"},
	{unix.CAP_SETGID, "CAP_SETGID"},
	{unix.CAP_KILL, "CAP_KILL"},
	{unix.CAP_CHOWN, "CAP_CHOWN"},
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
	{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
}

// missingCapabilities returns the needed capabilities that this process lacks.
func missingCapabilities() (missing []string) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // the capabilities 0 to 31, and those from 32
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return []string{"its capabilities, which cannot be read: " + err.Error()}
	}
	for _, c := range needed {
		if sets[0].Effective&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing
}

// startAs calls start, which starts cmd. A program of another user must not inherit the ambient capabilities of this process.
// The kernel keeps them if a process changes from one ordinary user to another. They belong to the calling thread. If there are
// any, the thread ends with its goroutine, so that no other program starts from it. Call startAs on a locked thread.
func startAs(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	if cmd.SysProcAttr.Credential == nil {
		return start(cmd)
	}
	ambient := false
	for c := uintptr(0); c <= unix.CAP_LAST_CAP && !ambient; c++ {
		set, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, c, 0, 0)
		ambient = err == nil && set == 1
	}
	if ambient {
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return fmt.Errorf("drop ambient capabilities: %w", err)
		}
	}
	return start(cmd)
}
