package cgroups

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// OnThread calls f on a thread that runs nothing else during the call and is not the first thread of this process. It returns
// when f returns.
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

// Start starts cmd as the first process of the group. If the group is nil, it starts cmd without a cgroup. Call it within
// OnThread.
//
// In v2 the kernel puts the child into the cgroup. In v1, where threads have cgroups, the calling thread enters the cgroup,
// forks, and leaves it. The memory of this process stays in the cgroup of its first thread, which is why that thread must not
// enter.
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
		return errors.New("start in cgroup: on the first thread")
	}
	g.loosen()
	defer g.tighten()
	defer g.leave()
	if err := g.enter(); err != nil {
		return err
	}
	return cmd.Start()
}

// loosen lifts limits during the start of a process. A child that waits for CPU time before it executes its program would delay
// all other starts of this process. In v1 the thread that forks also counts as a process of the group. loosen ignores errors,
// since the limits then stay in force.
func (g *Group) loosen() {
	for _, l := range g.layers {
		if g.limits.CPU > 0 {
			_ = l.limitCPU(-1)
		}
		if g.limits.PIDs > 0 && !l.home.unified && slices.Contains(l.home.controllers, PIDs) {
			_ = write(l.dir, "pids.max", strconv.Itoa(g.limits.PIDs+1))
		}
	}
}

// tighten restores the limits that loosen has lifted.
func (g *Group) tighten() {
	for _, l := range g.layers {
		_ = l.limitCPU(g.limits.CPU)
		if g.limits.PIDs > 0 && !l.home.unified && slices.Contains(l.home.controllers, PIDs) {
			_ = write(l.dir, "pids.max", strconv.Itoa(g.limits.PIDs))
		}
	}
}

// enter moves the calling thread into the group.
func (g *Group) enter() error {
	for _, l := range g.layers {
		if err := write(l.dir, "tasks", strconv.Itoa(unix.Gettid())); err != nil {
			return err
		}
	}
	return nil
}

// leave moves the calling thread back to its own cgroup. If that fails, no goroutine may use the thread again. So leave locks
// the thread once more than it will be unlocked, and the thread ends with its goroutine.
func (g *Group) leave() {
	for _, l := range g.layers {
		if write(l.home.dir, "tasks", strconv.Itoa(unix.Gettid())) != nil {
			runtime.LockOSThread()
		}
	}
}
