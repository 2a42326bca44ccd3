//go:build linux

package cgroups_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
)

func TestTheFirstInstructionIsInTheGroup(t *testing.T) {
	g := newGroup(t, open(t), cgroups.Limits{Memory: 64 << 20, CPU: 1000, PIDs: 1})
	var out bytes.Buffer
	cmd := exec.Command("/bin/cat", "/proc/self/cgroup")
	cmd.Stdout = &out
	if err := start(t, g, cmd)(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "/test.1\n"); n != 3 && !strings.HasSuffix(out.String(), "0::/test.1\n") {
		t.Errorf("it was in\n%s", out.String())
	}
	if own, err := os.ReadFile("/proc/thread-self/cgroup"); err != nil || strings.Contains(string(own), "test.1") {
		t.Errorf("%v, and we are in\n%s", err, own)
	}
}

func TestManyStartAtATime(t *testing.T) {
	tree := open(t)
	var all sync.WaitGroup
	for range 50 {
		g := newGroup(t, tree, cgroups.Limits{PIDs: 3, Memory: 64 << 20})
		all.Go(func() {
			cmd := shell("exec grep -c -e /test. /proc/self/cgroup")
			cmd.SysProcAttr = &syscall.SysProcAttr{}
			cgroups.OnThread(func() {
				if err := g.Start(cmd); err != nil {
					t.Error(err)
				} else if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	all.Wait()
	tasks, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if b, _ := os.ReadFile(task); strings.Contains(string(b), "/test.") {
			t.Errorf("%s: a thread of ours is in\n%s", task, b)
		}
	}
}

func TestMemoryIsLimited(t *testing.T) {
	tree := open(t)
	small, large := newGroup(t, tree, cgroups.Limits{Memory: 64 << 20}), newGroup(t, tree, cgroups.Limits{Memory: 1 << 30})
	other := start(t, large, eat())
	err := start(t, small, eat())()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || !small.OutOfMemory() {
		t.Errorf("it ended with %v, out of memory: %v", err, small.OutOfMemory())
	}
	if err := other(); err != nil || large.OutOfMemory() {
		t.Errorf("the other one ended with %v, out of memory: %v", err, large.OutOfMemory())
	}
}

func TestAnotherSignalIsNotOutOfMemory(t *testing.T) {
	g := newGroup(t, open(t), cgroups.Limits{Memory: 64 << 20})
	if err := start(t, g, shell("kill -KILL $$"))(); err == nil || g.OutOfMemory() {
		t.Errorf("it ended with %v, out of memory: %v", err, g.OutOfMemory())
	}
}

func TestCPUIsLimited(t *testing.T) {
	const share, lasts = 0.2, 2 * time.Second
	g := newGroup(t, open(t), cgroups.Limits{CPU: share * 1000})
	// The shell waits for two processes, so their CPU time counts for the shell.
	cmd := shell(fmt.Sprintf("while :; do :; done & a=$!; while :; do :; done & b=$!; sleep %v; kill $a $b; wait", lasts.Seconds()))
	began := time.Now()
	if err := start(t, g, cmd)(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	used := cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
	ratio := used.Seconds() / took.Seconds()
	t.Logf("%v in %v are %.3f of a CPU", used, took, ratio)
	if ratio > share*1.25 || ratio < share/5 {
		t.Errorf("they used %.3f of a CPU, want %v", ratio, share)
	}
}

func TestAForkBombIsLimited(t *testing.T) {
	g := newGroup(t, open(t), cgroups.Limits{PIDs: 20})
	// Each process leaves a file.
	dir := t.TempDir()
	bomb := filepath.Join(dir, "bomb")
	text := "#!/bin/sh\n: >" + dir + "/$$\n\"$0\" & \"$0\" & while :; do sleep 1000; done\n"
	if err := os.WriteFile(bomb, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(files) - 1
	}
	wait := start(t, g, exec.Command(bomb))
	eventually(t, "there are many", func() bool { return count() > 5 })
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	wait()
	if n := count(); n > 20 {
		t.Errorf("%d came to be, want at most 20", n)
	}
}

func TestKillFindsProcessesWithoutGroupAndMark(t *testing.T) {
	tree := open(t)
	for name, limits := range map[string]cgroups.Limits{"memory": {Memory: 64 << 20}, "processes": {PIDs: 50}} {
		g := newGroup(t, tree, limits)
		cmd := shell("(setsid env -i sh -c 'trap \"\" TERM; while :; do sleep 1000.25; done' &)")
		if err := start(t, g, cmd)(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Kill(), g.Remove()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out, err := exec.Command("pgrep", "-f", "sleep 1000.25").Output(); err == nil {
			t.Errorf("%s: left: %s", name, out)
		}
	}
}

func TestSweepAfterAKilledProcess(t *testing.T) {
	open(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "ROTA_TEST_ROLE=owner")
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "began\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if err := cgroups.Sweep(); err != nil {
		t.Error(err)
	}
	if len(within(t, "owned.")) == 0 {
		t.Error("a sweep took what belongs to a process that lives")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()
	if err := cgroups.Sweep(); err != nil {
		t.Error(err)
	}
	if left := within(t, "owned."); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if out, err := exec.Command("pgrep", "-f", "sleep 1000.75").Output(); err == nil {
		t.Errorf("left: %s", out)
	}
}

func TestNothingIsLimitedWithoutCgroups(t *testing.T) {
	var none *cgroups.Tree
	if g, err := none.Make("test", cgroups.Limits{CPU: 100}); err == nil {
		t.Errorf("got %+v", g)
	}
	if list := none.Controllers(); len(list) > 0 {
		t.Errorf("got %q", list)
	}
}
