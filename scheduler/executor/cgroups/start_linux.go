package cgroups

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// OnThread calls f on a thread that does nothing else meanwhile and is not the first one of this process, and returns when
// f does.
func OnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	var other sync.WaitGroup
	other.Go(func() { OnThread(f) })
	other.Wait()
}

// Start starts cmd as the first process of the group; a nil group is none. It is called within OnThread.
//
// In v2 the kernel is told to put the child there. In v1, where cgroups are those of threads, the calling thread goes
// there, forks, and comes back. It takes none of this process's memory along, which is counted where the first thread is;
// that is why it must not be the first.
func (g *Group) Start(cmd *exec.Cmd) error {
	switch {
	case g == nil || len(g.layers) == 0:
		return cmd.Start()
	case g.layers[0].home.unified:
		dir, err := os.Open(g.layers[0].dir)
		if err != nil {
			return fmt.Errorf("open cgroup: %w", err)
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		g.loosen()
		defer g.tighten()
		return cmd.Start()
	}
	if unix.Gettid() == os.Getpid() {
		return fmt.Errorf("start in cgroup: on the first thread")
	}
	g.loosen()
	defer g.tighten()
	defer g.leave()
	if err := g.enter(); err != nil {
		return err
	}
	return cmd.Start()
}

// loosen makes room for the start. A child that had to wait for CPU time before it executes its program would hold up all
// others that this process is to start; and in v1 the thread that forks counts as a process of the group. Errors are none:
// the limits are in force then.
func (g *Group) loosen() {
	for _, l := range g.layers {
		if g.limits.CPU > 0 {
			l.limitCPU(-1)
		}
		if g.limits.PIDs > 0 && !l.home.unified && slices.Contains(l.home.controllers, PIDs) {
			write(l.dir, "pids.max", strconv.Itoa(g.limits.PIDs+1))
		}
	}
}

// tighten puts the limits in force that loosen has lifted, which the kernel took when the group was made.
func (g *Group) tighten() {
	for _, l := range g.layers {
		l.limitCPU(g.limits.CPU)
		if g.limits.PIDs > 0 && !l.home.unified && slices.Contains(l.home.controllers, PIDs) {
			write(l.dir, "pids.max", strconv.Itoa(g.limits.PIDs))
		}
	}
}

// enter puts the calling thread into the group.
func (g *Group) enter() error {
	for _, l := range g.layers {
		if err := write(l.dir, "tasks", strconv.Itoa(unix.Gettid())); err != nil {
			return err
		}
	}
	return nil
}

// leave takes the calling thread back to where it came from. One that cannot is never used for anything else: it stays
// locked, once more than it will be unlocked, and ends with its goroutine.
func (g *Group) leave() {
	for _, l := range g.layers {
		if write(l.home.dir, "tasks", strconv.Itoa(unix.Gettid())) != nil {
			runtime.LockOSThread()
		}
	}
}
