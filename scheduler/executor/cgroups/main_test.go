//go:build linux

package cgroups_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/test/lacking"
	"github.com/rota-scheduler/rota/test/poll"
)

// TestMain lets the test binary act as a process that allocates memory, and as a process that is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("ROTA_TEST_ROLE") {
	case "eat": // 200 blocks of 1 MiB
		var eaten [][]byte
		for range 200 {
			eaten = append(eaten, bytes.Repeat([]byte{1}, 1<<20))
		}
		fmt.Println(len(eaten))
	case "owner":
		own()
	default:
		goleak.VerifyTestMain(m)
	}
}

// own starts processes in a group and waits for its own end.
func own() {
	tree, why := cgroups.Open()
	group, err := tree.Make("owned", cgroups.Limits{PIDs: 10})
	if err != nil {
		fmt.Println(err, why)
		return
	}
	cmd := shell("setsid env -i sleep 1000.75 & echo began; sleep 1000.75")
	cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{}
	cgroups.OnThread(func() { err = group.Start(cmd) })
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd.Wait()
}

// open opens a tree. If there are no cgroups, it skips the test. In CI there must be cgroups.
func open(t *testing.T) *cgroups.Tree {
	t.Helper()
	tree, err := cgroups.Open()
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	if len(tree.Controllers()) < 3 {
		lacking.ReportForRoot(t, "there are no cgroups: %v", err)
	}
	return tree
}

func newGroup(t *testing.T, tree *cgroups.Tree, limits cgroups.Limits) *cgroups.Group {
	t.Helper()
	g, err := tree.Make("test", limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Kill(), g.Remove()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// start starts cmd in the group. wait waits for its end.
func start(t *testing.T, g *cgroups.Group, cmd *exec.Cmd) (wait func() error) {
	t.Helper()
	var err error
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	cgroups.OnThread(func() { err = g.Start(cmd) })
	if err != nil {
		t.Fatal(err)
	}
	wait = sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
		wait()
	})
	return wait
}

func shell(text string) *exec.Cmd { return exec.Command("/bin/sh", "-c", text) }

func eat() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ROTA_TEST_ROLE=eat")
	return cmd
}

var eventually = poll.Until

// within returns the existing cgroups of that name.
func within(t *testing.T, name string) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), name) {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
