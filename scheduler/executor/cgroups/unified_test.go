//go:build linux

package cgroups

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// unified creates a cgroup in the hierarchy of v2. The hierarchy may have no controllers. If there is no such hierarchy,
// unified skips the test.
func unified(t *testing.T) (dir string) {
	t.Helper()
	mounts, err := mounted()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(mounts, func(m mount) bool { return m.unified })
	if i < 0 {
		t.Skip("NOT TESTED: no v2 is mounted")
	}
	dir = filepath.Join(mounts[i].dir, "rota-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("NOT TESTED: v2 cannot be used: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(kill(dir, vanishTimeout), remove(dir, vanishTimeout)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestUnifiedGroup(t *testing.T) {
	dir := unified(t)
	h := home{place: place{unified: true, dir: dir}}
	if err := h.create(); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{homes: []home{h}}
	g, err := tree.Make("test", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	text := "grep -q /test.1$ /proc/self/cgroup && (setsid env -i sh -c 'trap \"\" TERM; while :; do sleep 1000; done' &)"
	OnThread(func() {
		cmd = exec.Command("/bin/sh", "-c", text)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
		if err = g.Start(cmd); err == nil {
			err = cmd.Wait()
		}
	})
	if err != nil {
		t.Fatalf("the process is not in its cgroup: %v", err)
	}
	if left, err := all(g.layers[0].dir); err != nil || len(left) == 0 {
		t.Errorf("%q are left, %v; want the process that left its session", left, err)
	}
	if err := errors.Join(g.Kill(), g.Remove()); err != nil {
		t.Error(err)
	}
	if err := h.sweep(vanishTimeout); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(h.folder); err != nil {
		t.Errorf("a sweep took the folder of a process that lives: %v", err)
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, folder+"*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestMoveToLeaf(t *testing.T) {
	dir := unified(t)
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & wait")
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { kill(dir, vanishTimeout); cmd.Wait() }()
	for range 2 { // the second call has nothing to do
		if err := moveToLeaf(dir); err != nil {
			t.Fatal(err)
		}
	}
	here, _ := members(dir)
	below, _ := members(filepath.Join(dir, leaf))
	if len(here) > 0 || !slices.Contains(below, strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("%q are here and %q in the leaf, want %d there", here, below, cmd.Process.Pid)
	}
}

// files creates a directory with files, which stands for a cgroup.
func files(t *testing.T, dir string, names ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, content, _ := strings.Cut(name, "=")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLimitsOfTheUnifiedHierarchy(t *testing.T) {
	dir := files(t, t.TempDir(), "memory.max", "memory.oom.group", "cpu.max", "pids.max", "memory.events=low 0\nmax 9\noom 1\noom_kill 2\n")
	l := layer{home: place{unified: true, controllers: known()}, dir: dir}
	limits := Limits{Memory: 512 << 20, CPU: 500, PIDs: 64}
	if err := l.limit(limits); err != nil { // memory.swap.max may be missing
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "536870912", "memory.oom.group": "1", "cpu.max": "50000", "pids.max": "64"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %s", name, got, err, want)
		}
	}
	g := &Group{limits: limits, layers: []layer{l}}
	if !g.OutOfMemory() {
		t.Error("OutOfMemory does not report processes that were killed at the limit")
	}
	files(t, dir, "memory.events=max 0\noom 0\noom_kill 1\n")
	if g.OutOfMemory() {
		t.Error("OutOfMemory reports a process that was killed because the machine had no memory")
	}
}

func TestDelegation(t *testing.T) {
	top := t.TempDir()
	all := "cgroup.controllers=cpuset cpu io memory pids\n"
	m := mount{unified: true, root: "/", dir: files(t, top, all)}
	files(t, top+"/system.slice/rota.service/sub", all)
	files(t, top+"/system.slice/rota.service", all)
	files(t, top+"/rota-worker", "cgroup.controllers=")
	files(t, top+"/other", all)
	delegate := func(dir string) {
		t.Helper()
		if err := unix.Setxattr(top+dir, "user.delegate", []byte("1"), 0); err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
	}
	for _, tt := range []struct {
		own, want, why string
	}{
		{"/", "/", "the root of a namespace"},
		{"/rota-worker", "/", "the leaf of such a root"},
		{"/other", "", "another process's below the root"},
		{"/system.slice/rota.service", "", "a unit without Delegate=yes"},
	} {
		p, err := delegated(m, tt.own)
		if want := filepath.Join(top, tt.want); tt.want != "" && (err != nil || p.dir != want || !slices.Equal(p.controllers, known())) || tt.want == "" && err == nil {
			t.Errorf("%s, %s: got %+v, %v; want %q", tt.why, tt.own, p, err, tt.want)
		}
	}
	delegate("/system.slice/rota.service")
	for _, own := range []string{"/system.slice/rota.service", "/system.slice/rota.service/sub"} {
		if p, err := delegated(m, own); err != nil || p.dir != filepath.Join(top, "/system.slice/rota.service") {
			t.Errorf("%s of a unit with Delegate=yes: got %+v, %v", own, p, err)
		}
	}
	files(t, top, "cgroup.controllers=\n")
	files(t, top+"/other", "cgroup.controllers=\n")
	if p, err := delegated(m, "/other"); err != nil || p.dir != "" {
		t.Errorf("without controllers: got %+v, %v; want neither", p, err)
	}
}

func TestPathsOfMounts(t *testing.T) {
	for _, tt := range []struct{ root, cgroup, want string }{
		{"/", "/", "/m"},
		{"/", "/a/b", "/m/a/b"},
		{"/docker/1", "/docker/1", "/m"},
		{"/docker/1", "/docker/1/x", "/m/x"},
		{"/docker/1", "/elsewhere", "/m/elsewhere"},
	} {
		if got := (mount{root: tt.root, dir: "/m"}).path(tt.cgroup); got != tt.want {
			t.Errorf("%s below %s: got %s, want %s", tt.cgroup, tt.root, got, tt.want)
		}
	}
}
