package procs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxEnviron is how many bytes of a process's environment are read.
const maxEnviron = 4 << 20

// killMarked kills the processes with one of the marks until a scan finds none, for at most limit.
func killMarked(marks map[string]bool, limit time.Duration) error {
	var s scanner
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		pids, err := s.marked(marks)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			err = errors.Join(err, s.signal(pid, marks, unix.SIGKILL))
		}
		if waited >= limit {
			return errors.Join(fmt.Errorf("kill marked processes: %v still there after %v", pids, waited), err)
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// findMarked returns the processes that carry one of the marks, by mark.
func findMarked(marks map[string]bool) map[string][]int {
	var s scanner
	found := make(map[string][]int)
	pids, _ := list()
	for _, pid := range pids {
		if mark := s.mark(pid); marks[mark] {
			found[mark] = append(found[mark], pid)
		}
	}
	return found
}

// SignalOutside sends a signal to the processes of pids that still carry the mark and are not in the process group pgid.
func SignalOutside(pgid int, pids []int, mark string, sig syscall.Signal) error {
	var s scanner
	var err error
	for _, pid := range pids {
		if group, gone := unix.Getpgid(pid); gone == nil && group != pgid {
			err = errors.Join(err, s.signal(pid, map[string]bool{mark: true}, sig))
		}
	}
	return err
}

// Alive reports whether the process group has a member that is not a zombie.
func Alive(pgid int) bool {
	pids, err := list()
	if err != nil {
		return unix.Kill(-pgid, 0) == nil
	}
	return slices.ContainsFunc(pids, func(pid int) bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return false
		}
		// The fields are: pid (name) state parent group … The name may contain anything.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		return len(f) > 2 && string(f[2]) == strconv.Itoa(pgid) && f[0][0] != 'Z' && f[0][0] != 'X'
	})
}

// scanner reads the environments of processes. It uses its buffer again.
type scanner struct{ buf []byte }

// marked returns the processes that carry one of the marks, without this process.
func (s *scanner) marked(marks map[string]bool) ([]int, error) {
	pids, err := list()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == self || !covered(s.mark(pid), marks) }), nil
}

// mark returns the mark of a process; "" if it has none, has ended, or cannot be read.
func (s *scanner) mark(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	defer f.Close()
	if s.buf == nil {
		s.buf = make([]byte, 64<<10)
	}
	n := 0
	for {
		m, err := f.Read(s.buf[n:])
		n += m
		if errors.Is(err, io.EOF) || n >= maxEnviron {
			break
		}
		if err != nil {
			return ""
		}
		if n == len(s.buf) {
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
		}
	}
	env := s.buf[:n]
	key := []byte(Env + "=")
	for i := 0; i < len(env); {
		at := bytes.Index(env[i:], key)
		if at < 0 {
			return ""
		}
		if at += i; at == 0 || env[at-1] == 0 {
			value, _, _ := bytes.Cut(env[at+len(key):], []byte{0})
			return string(value)
		}
		i = at + len(key)
	}
	return ""
}

// signal sends a signal to the process if it still carries one of the marks. Its number may already belong to another process,
// so signal opens a descriptor of the process and reads the mark again.
func (s *scanner) signal(pid int, marks map[string]bool, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case err != nil: // the kernel is old, or too many descriptors are open
		err = unix.Kill(pid, sig)
	default:
		defer func() { _ = unix.Close(fd) }()
		if !covered(s.mark(pid), marks) {
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
	d, err := os.Open("/proc")
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
