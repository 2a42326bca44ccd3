package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// vanishTimeout is how long killed processes, and their cgroup, may take to vanish. Only a process that waits in the kernel
// takes longer.
const vanishTimeout = 10 * time.Second

// Group is the cgroup of one process tree.
type Group struct {
	limits Limits
	layers []layer
}

// layer is the part of a group in one hierarchy. A group has one layer in v2, or up to three in v1.
type layer struct {
	home place
	dir  string
}

// period is the interval in which a tree may use its share of CPU time, in microseconds. This is also the default of the kernel
// and of systemd.
const period = 100_000

// limit sets the limits for which this hierarchy has controllers.
func (l layer) limit(limits Limits) error {
	var err error
	set := func(controller string, limit int64, unified, v1 string) {
		if err != nil || limit == 0 || !slices.Contains(l.home.controllers, controller) {
			return
		}
		file := v1
		if l.home.unified {
			file = unified
		}
		err = write(l.dir, file, strconv.FormatInt(limit, 10))
	}
	set(Memory, limits.Memory, "memory.max", "memory.limit_in_bytes")
	set(PIDs, int64(limits.PIDs), "pids.max", "pids.max")
	err = errors.Join(err, l.limitCPU(limits.CPU))
	if err != nil || limits.Memory == 0 || !slices.Contains(l.home.controllers, Memory) {
		return err
	}
	if l.home.unified { // the kernel kills all processes of the tree, or none
		return errors.Join(write(l.dir, "memory.oom.group", "1"), ignoreMissing(write(l.dir, "memory.swap.max", "0")))
	}
	return ignoreMissing(write(l.dir, "memory.memsw.limit_in_bytes", strconv.FormatInt(limits.Memory, 10)))
}

// limitCPU sets the limit in thousandths of a CPU. Zero changes nothing, and a negative value means no limit.
func (l layer) limitCPU(thousandths int) error {
	if thousandths == 0 || !slices.Contains(l.home.controllers, CPU) {
		return nil
	}
	file, quota := "cpu.cfs_quota_us", strconv.FormatInt(int64(thousandths)*period/1000, 10)
	switch {
	case thousandths < 0 && l.home.unified:
		quota = "max"
	case thousandths < 0:
		quota = "-1"
	}
	if l.home.unified {
		file = "cpu.max" // cpu.max has a second number, the period, which does not change
	}
	return write(l.dir, file, quota)
}

// ignoreMissing ignores the error of a missing file. Some kernels lack the files about swap.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// OutOfMemory reports whether the kernel killed a process of the tree because the tree had reached its memory limit.
func (g *Group) OutOfMemory() bool {
	for _, l := range g.layers {
		if !slices.Contains(l.home.controllers, Memory) {
			continue
		}
		if l.home.unified {
			return count(l.dir, "memory.events", "oom_kill ") > 0 && count(l.dir, "memory.events", "oom ") > 0
		}
		// Kernels count failures to charge memory differently, so the highest usage decides.
		most := max(count(l.dir, "memory.max_usage_in_bytes", ""), count(l.dir, "memory.memsw.max_usage_in_bytes", ""))
		return count(l.dir, "memory.oom_control", "oom_kill ") > 0 && most >= g.limits.Memory/10*9
	}
	return false
}

// count returns the number that follows key in a file; 0 if there is none.
func count(dir, file, key string) int64 {
	b, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// Kill kills all processes of the tree. It returns when all have ended.
func (g *Group) Kill() error {
	for _, l := range g.layers {
		if !l.home.unified && slices.Contains(l.home.controllers, PIDs) {
			_ = write(l.dir, "pids.max", "0") // prevents new processes
		}
	}
	var err error
	for _, l := range g.layers {
		err = errors.Join(err, kill(l.dir, vanishTimeout))
	}
	return err
}

// Remove removes the group, which has no processes left.
func (g *Group) Remove() error {
	var err error
	for _, l := range g.layers {
		err = errors.Join(err, remove(l.dir, vanishTimeout))
	}
	return err
}

// kill kills the processes in a cgroup and below it, and waits for their end.
func kill(dir string, timeout time.Duration) error {
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		pids, err := all(dir)
		if err != nil || len(pids) == 0 {
			return err
		}
		if waited >= timeout {
			return fmt.Errorf("kill cgroup %s: processes %s still there after %v", dir, strings.Join(pids, " "), timeout)
		}
		if write(dir, "cgroup.kill", "1") != nil { // v1 and Linux before 5.14 do not have this file
			killEach(dir, pids)
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// killEach kills the processes of pids that are still in the cgroup. The number of an ended process may belong to a new
// process, so killEach opens a descriptor of each process before it reads the list again.
func killEach(dir string, pids []string) {
	fds := make(map[string]int)
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for _, text := range pids {
		if pid, err := strconv.Atoi(text); err == nil {
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				fds[text] = fd
			} else if !errors.Is(err, unix.ESRCH) { // the kernel is old, or too many descriptors are open
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	again, _ := all(dir)
	for _, text := range again {
		if fd, ok := fds[text]; ok {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
	}
}

// all returns the processes in a cgroup and below it, without this process: one of its threads may be in the cgroup to start
// another process.
func all(dir string) (pids []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			var here []string
			here, err = members(path)
			pids = append(pids, here...)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil // the cgroup is being removed
		}
		return err
	})
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(pids, func(pid string) bool { return pid == self }), err
}

// members returns the processes in one cgroup.
func members(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("read cgroup: %w", err)
	}
	return strings.Fields(string(b)), nil
}

// remove removes a cgroup and the cgroups below it. A process that was just killed may still be in it.
func remove(dir string, timeout time.Duration) error {
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		below, _ := os.ReadDir(dir)
		for _, d := range below {
			if !d.IsDir() {
				continue
			}
			if err := remove(filepath.Join(dir, d.Name()), timeout); err != nil {
				return err
			}
		}
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || waited >= timeout {
			return fmt.Errorf("remove cgroup %s: %w", dir, err)
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// write sets one value of a cgroup.
func write(dir, file, value string) error {
	// Without O_CREATE and O_TRUNC, since only the kernel creates these files.
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set %s of cgroup: %w", file, err)
	}
	defer f.Close()
	if _, err := f.WriteString(value); err != nil {
		return fmt.Errorf("set %s of cgroup to %s: %w", file, value, err)
	}
	return nil
}
