package procs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked kills the processes with one of the marks until a scan finds none, for at most limit. own says that the marks belong
// to the life of this process. A scan that lacks a descriptor or memory is repeated too.
func killMarked(marks map[string]bool, limit time.Duration, own bool) error {
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		pids, hung, err := marked(marks)
		if err != nil && (shortage(err) == nil || waited >= limit) {
			return err
		}
		unread := unreadable(hung, own)
		if err == nil && len(pids) == 0 && (unread == nil || waited >= readLimit) { // a slow machine may still answer
			return unread
		}
		for _, pid := range pids {
			err = errors.Join(err, signalMarked(pid, marks, unix.SIGKILL))
		}
		if waited >= limit {
			return errors.Join(fmt.Errorf("kill marked processes: %v still there after %v", pids, waited), err)
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// findMarked returns the processes that carry one of the marks, by mark; none if the processes cannot be listed at all.
func findMarked(marks map[string]bool) finds {
	found := make(map[string][]int)
	all, err := list()
	if err != nil {
		return finds{err: shortage(err)}
	}
	pids, _, err := marksOf(all)
	for pid, mark := range pids {
		if marks[mark] {
			found[mark] = append(found[mark], pid)
		}
	}
	return finds{found, err}
}

// SignalOutside sends a signal to the processes of pids that still carry the mark and are not in the process group pgid.
func SignalOutside(pgid int, pids []int, mark string, sig syscall.Signal) error {
	var err error
	for _, pid := range pids {
		if group, gone := unix.Getpgid(pid); gone == nil && group != pgid {
			err = errors.Join(err, signalMarked(pid, map[string]bool{mark: true}, sig))
		}
	}
	return err
}

// Alive reports whether the process group has a member that is not a zombie. Members that cannot be read for a
// shortage count as alive.
func Alive(pgid int) bool {
	pids, err := list()
	if err != nil {
		return unix.Kill(-pgid, 0) == nil
	}
	return slices.ContainsFunc(pids, func(pid int) bool {
		f, err := status(pid) // state, parent, group and more
		return err != nil || len(f) > 2 && string(f[2]) == strconv.Itoa(pgid) && f[0][0] != 'Z' && f[0][0] != 'X'
	})
}

// marked returns the processes that carry one of the marks, without this process, and those whose environments cannot be read.
func marked(marks map[string]bool) (pids, hung []int, err error) {
	all, err := list()
	if err != nil {
		return nil, nil, err
	}
	found, hung, err := marksOf(all)
	self := os.Getpid()
	for pid, mark := range found {
		if pid != self && covered(mark, marks) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, hung, err
}

// signalMarked sends a signal to the process if it still carries one of the marks. Its number may already belong to another
// process, so signalMarked opens a descriptor of the process and reads the mark again.
func signalMarked(pid int, marks map[string]bool, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case err != nil: // the kernel is old, or too many descriptors are open
		err = unix.Kill(pid, sig)
	default:
		defer func() { _ = unix.Close(fd) }()
		if found, _, _ := marksOf([]int{pid}); !covered(found[pid], marks) {
			return nil
		}
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", sig, pid, err)
	}
	return nil
}

// list returns the numbers of all processes.
func list() ([]int, error) {
	d, err := os.Open(procDir)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
