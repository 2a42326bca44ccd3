package systemd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/lacking"
)

const (
	suite    = "trixie" // the first Debian whose systemd knows Type=notify-reload
	archive  = "http://deb.debian.org/debian"
	packages = "systemd,systemd-sysv,dbus"
)

// debian returns a directory with a Debian that no test changes.
func debian(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking.Report(t, "only root can boot a machine")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		lacking.Report(t, "debootstrap is missing: apt install debootstrap")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cache, "rota-test", suite)
	if _, err := os.Stat(root); err == nil {
		return root
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	half, err := os.MkdirTemp( //nolint:usetesting // it is renamed into the cache
		filepath.Dir(root), suite+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(half) })
	if out, err := run(t, 10*time.Minute, "debootstrap", "--variant=minbase", "--include="+packages, suite, half, archive); err != nil {
		lacking.Report(t, "Debian was not installed: %v\n%s", err, out)
	}
	if err := os.Chmod(half, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// run runs a program and returns its output of both streams.
func run(t *testing.T, limit time.Duration, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit) // this also runs after the end of the test
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(out)), err
}

// machine is a booted Debian.
type machine struct {
	t    *testing.T
	root string // its root directory, as this process sees it
	init int    // the process id of its systemd
}

// boot boots a Debian that is thrown away when the test ends.
func boot(t *testing.T) *machine {
	t.Helper()
	lower, dir := debian(t), t.TempDir()
	m := &machine{t: t, root: filepath.Join(dir, "root")}
	upper, work, groups := filepath.Join(dir, "upper"), filepath.Join(dir, "work"), filepath.Join(dir, "cgroup")
	for _, d := range []string{m.root, upper, work, groups} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount := func(source, target, kind, options string) {
		t.Helper()
		if err := syscall.Mount(source, target, kind, 0, options); err != nil {
			lacking.Report(t, "mount %s: %v", kind, err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) })
	}
	mount("overlay", m.root, "overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work))
	mount("none", groups, "cgroup2", "")
	group := filepath.Join(groups, fmt.Sprintf("rota-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/boot.sh")
	if err != nil {
		t.Fatal(err)
	}
	console, err := os.Create(filepath.Join(dir, "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	cmd := exec.Command(script, m.root, group)
	cmd.Stdout, cmd.Stderr = console, console
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unshare kills its child, the init of the machine, and so every process of the machine
		_ = cmd.Wait()
		removeGroups(group)
	})
	m.await("systemd has booted", func() error {
		if m.init == 0 {
			if m.init = child(cmd.Process.Pid); m.init == 0 {
				text, _ := os.ReadFile(console.Name())
				return fmt.Errorf("no systemd yet: %s", text)
			}
		}
		state, err := m.try("systemctl", "is-system-running")
		if state != "running" && state != "degraded" {
			return fmt.Errorf("state %q: %w", state, err)
		}
		return nil
	})
	return m
}

// child returns the child of a process; 0: it has none.
func child(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	first, _, _ := strings.Cut(string(text), " ")
	id, _ := strconv.Atoi(strings.TrimSpace(first))
	return id
}

// removeGroups removes a cgroup with those below it, which must be empty.
func removeGroups(dir string) {
	below, _ := filepath.Glob(filepath.Join(dir, "*", ""))
	for _, d := range below {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			removeGroups(d)
		}
	}
	_ = os.Remove(dir)
}

// try runs a program in the machine.
func (m *machine) try(argv ...string) (string, error) {
	m.t.Helper()
	enter := []string{"nsenter", "--target", strconv.Itoa(m.init), "--pid", "--mount", "--cgroup", "--ipc", "--uts", "--net", "--"}
	return run(m.t, time.Minute, append(enter, argv...)...)
}

// run runs a program in the machine, which must succeed.
func (m *machine) run(argv ...string) string {
	m.t.Helper()
	out, err := m.try(argv...)
	if err != nil {
		journal, _ := m.try("journalctl", "--no-pager", "--lines=50")
		m.t.Fatalf("%v\n%s\njournal:\n%s", err, out, journal)
	}
	return out
}

// write writes a file in the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// await polls until ready returns nil.
func (m *machine) await(what string, ready func() error) {
	m.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("after a minute not true: %s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond) // the pause of a poll with a deadline
	}
}
