package procs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// procDir is where the kernel shows processes, and readLimit how long it may take to show the environment of one of them. Usually
// it takes microseconds. Tests change them.
var (
	procDir   = "/proc"
	readLimit = 2 * time.Second
)

// hanging has the numbers of processes whose environments are being read for longer than readLimit. While a process waits in mmap
// for a file server that is gone, the kernel holds up each read of its environment.
var hanging sync.Map

// file returns the path of a file that describes a process.
func file(pid int, name string) string { return filepath.Join(procDir, strconv.Itoa(pid), name) }

// marksOf returns the marks of those processes that have one. It leaves out the processes whose environments cannot be read now,
// and returns their numbers. With an error, which is a shortage, it may also leave out others.
func marksOf(pids []int) (marks map[int]string, hung []int, err error) {
	marks = make(map[int]string)
	pids = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		_, hangs := hanging.Load(pid)
		if hangs {
			hung = append(hung, pid)
		}
		return hangs
	})
	for len(pids) > 0 {
		r := &reading{pids: pids, marks: make([]string, len(pids)), done: make(chan struct{})}
		go r.run() // await waits for it, except for a read that hangs
		n := r.await()
		for i, mark := range r.marks[:n] {
			if mark != "" {
				marks[pids[i]] = mark
			}
		}
		if n == len(pids) {
			return marks, hung, r.err
		}
		hung = append(hung, pids[n])
		pids = pids[n+1:]
	}
	return marks, hung, nil
}

// reading reads the marks of processes, one after the other.
type reading struct {
	pids  []int
	marks []string     // those before at are valid
	at    atomic.Int64 // the index of the process that is being read; abandoned
	err   error        // the shortage that ended it early; valid when done is closed
	done  chan struct{}
}

// abandoned is the index of a reading that nobody waits for.
const abandoned = -1

// run reads the marks. It returns early if a read has taken too long, or if this process lacks something to read more.
func (r *reading) run() {
	defer close(r.done)
	var s scanner
	for i, pid := range r.pids {
		mark, err := s.mark(pid)
		r.marks[i] = mark
		next := i + 1
		if err != nil {
			next = len(r.pids) // await must not take the next process for one that hangs
		}
		if !r.at.CompareAndSwap(int64(i), int64(next)) {
			hanging.Delete(pid)
			return
		}
		if err != nil {
			r.err = err
			return
		}
	}
}

// await waits for the marks, and returns how many are valid. If a read takes too long, await abandons the rest.
func (r *reading) await() int {
	tick := time.NewTicker(readLimit)
	defer tick.Stop()
	for last := int64(abandoned); ; {
		select {
		case <-r.done:
			return len(r.pids)
		case <-tick.C:
		}
		at := r.at.Load()
		if at == last && at < int64(len(r.pids)) {
			hanging.Store(r.pids[at], true)
			if r.at.CompareAndSwap(at, abandoned) {
				return int(at)
			}
			hanging.Delete(r.pids[at])
		}
		last = at
	}
}

// unreadable returns an error that names the processes whose environments cannot be read; nil if there are none. If own is true,
// the marks belong to the life of this process, and no older process can have one of them.
func unreadable(hung []int, own bool) error {
	if own {
		start := began(os.Getpid())
		hung = slices.DeleteFunc(hung, func(pid int) bool {
			at := began(pid)
			return at > 0 && at < start
		})
	}
	if len(hung) == 0 {
		return nil
	}
	return fmt.Errorf("find marked processes: processes %v wait in the kernel, so their environments cannot be read", hung)
}

// began returns when a process began, in ticks of the kernel's clock; 0 if that is unknown.
func began(pid int) uint64 {
	f, _ := status(pid)
	if len(f) < 20 {
		return 0
	}
	at, _ := strconv.ParseUint(string(f[19]), 10, 64)
	return at
}

// status returns the fields of a process's stat file from its state on; nil if it has ended. The fields before are its number and
// its name, which may contain anything. An error is a shortage.
func status(pid int) ([][]byte, error) {
	stat, err := os.ReadFile(file(pid, "stat"))
	if err != nil {
		return nil, shortage(err)
	}
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]), nil
}

// shortage returns err if it says that this process, or its machine, lacks a descriptor or memory; otherwise nil. Other errors say
// that the process that is read has ended.
func shortage(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("read processes: %w", err)
	}
	return nil
}

// scanner reads the environments of processes. It uses its buffer again.
type scanner struct{ buf []byte }

// maxEnviron is how many bytes of a process's environment are read.
const maxEnviron = 4 << 20

// mark returns the mark of a process; "" if it has none, has ended, or cannot be read. It waits for a process that is replacing its
// program, which has no environment for a moment. An error is a shortage.
func (s *scanner) mark(pid int) (string, error) {
	const patience, forFilled = 100, 5
	for tries, filled := 0, 0; tries < patience && filled < forFilled; tries++ {
		mark, empty, err := s.read(pid)
		if err != nil || !empty {
			return mark, err
		}
		now, err := status(pid)
		switch has := hasEnviron(now); {
		case err != nil || !has && !replacing(now):
			return "", err
		case has: // since the read; if it has removed its environment from its memory, this stays so
			filled++
		}
		time.Sleep(time.Millisecond)
	}
	return "", nil
}

// These are indexes of the fields that status returns.
const (
	statFlags    = 6
	statEnvStart = 47
	statEnvEnd   = 48
)

// hasEnviron reports whether the process with this status has an environment that is not empty.
func hasEnviron(status [][]byte) bool {
	return len(status) > statEnvEnd && !bytes.Equal(status[statEnvStart], status[statEnvEnd])
}

// replacing reports whether the process with this status has no place for an environment, and is neither a kernel thread nor about
// to end. A process with an empty environment has a place for it.
func replacing(status [][]byte) bool {
	const exiting, kernelThread = 0x4, 0x200000 // PF_EXITING and PF_KTHREAD of the kernel's sched.h
	if len(status) <= statEnvEnd || string(status[statEnvEnd]) != "0" {
		return false
	}
	flags, err := strconv.ParseUint(string(status[statFlags]), 10, 32)
	return err == nil && flags&(exiting|kernelThread) == 0
}

// read is mark without the wait. empty is true if the environment could be read and has nothing.
func (s *scanner) read(pid int) (mark string, empty bool, err error) {
	f, err := os.Open(file(pid, "environ"))
	if err != nil {
		return "", false, shortage(err)
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
			return "", false, shortage(err)
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
			return "", false, nil
		}
		if at += i; at == 0 || env[at-1] == 0 {
			value, _, _ := bytes.Cut(env[at+len(key):], []byte{0})
			return string(value), false, nil
		}
		i = at + len(key)
	}
	return "", n == 0, nil
}
