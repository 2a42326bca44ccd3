package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxLeftovers is how many processes leftBehind names.
const maxLeftovers = 10

// leftoverGrace is how long the processes that a program leaves behind may go on. A filter such as tee in `exec > >(tee log)`, for
// which a shell does not wait, needs it for the last lines.
const leftoverGrace = 500 * time.Millisecond

// leftBehind returns an error that names the processes that the program has left behind, and that clear is about to kill; nil if
// none is known. Call it after the program has exited. A search costs as much as a short attempt, so it is made only if the pipe
// output, to which the program wrote, is still open after leftoverGrace. drained is closed when no process has it open. For an
// attempt that is over, nothing delays the kill.
func (p *process) leftBehind(ctx context.Context, output *os.File, drained <-chan struct{}) error {
	if ctx.Err() != nil || !hasWriter(output) {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return nil
	case <-time.After(leftoverGrace):
	}
	pids, _ := p.family()
	if len(pids) == 0 { // a program that is just being started has the pipe open for a moment
		return nil
	}
	slices.Sort(pids)
	names, more := make([]string, 0, maxLeftovers), 0
	for _, pid := range pids {
		if len(names) == maxLeftovers {
			more++
			continue
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) { // it has ended by itself
			continue
		}
		names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(string(bytes.TrimSpace(name)), "process"), pid))
	}
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("killed processes that the program left behind: %s", text)
}

// hasWriter reports whether a process can still write to the pipe.
func hasWriter(pipe *os.File) bool {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	var open bool
	err = raw.Control(func(fd uintptr) {
		state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
		_, failed := unix.Poll(state, 0)
		open = failed == nil && state[0].Revents&unix.POLLHUP == 0
	})
	return err == nil && open
}
