package holes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/release"
)

// The variables with which TestMain starts the tests again in their namespaces.
const (
	oldVariable     = "ROTA_HOLES_OLD"
	presentVariable = "ROTA_HOLES_PRESENT"
)

// The addresses that this machine has in the namespace, besides loopback.
const (
	ownAddress      = "10.9.9.9"
	metadataAddress = "169.254.169.254"
)

var (
	oldRota, presentRota string // the binaries, which every user can execute
	why                  string // the reason why the tests cannot run; empty: they can
)

// TestMain builds both versions. Then it runs the tests in a network and a process namespace. If it dies, all their processes die.
func TestMain(m *testing.M) {
	flag.Parse()
	oldRota, presentRota = os.Getenv(oldVariable), os.Getenv(presentVariable)
	switch {
	case oldRota != "":
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case testing.Short():
		why = "builds version 0.1.0 and starts both versions; left out of -short"
	case os.Geteuid() != 0:
		why = "NO HOLE IS TRIED: namespaces and the users of services and attackers need root"
	default:
		os.Exit(again())
	}
	os.Exit(m.Run())
}

// again builds both versions and runs the tests in their namespaces. It returns the code for os.Exit.
func again() int {
	runtime.LockOSThread() // the namespaces end with this thread
	dir, err := os.MkdirTemp("", "rota-holes-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Chmod(dir, 0o755) //nolint:gosec // other users execute the binaries
	}
	old, present := filepath.Join(dir, "rota-0.1.0"), filepath.Join(dir, "rota")
	if err == nil {
		err = build(dir, old, present)
	}
	if errors.Is(err, release.ErrNoHistory) && os.Getenv("ROTA_CI") != "1" {
		fmt.Fprintln(os.Stderr, "test/holes: SKIPPED:", err)
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flags := []string{"--net", "--pid", "--mount-proc", "--fork", "--kill-child", "--", os.Args[0]}
	tests := exec.Command("unshare", append(flags, os.Args[1:]...)...)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), oldVariable+"="+old, presentVariable+"="+present, "TMPDIR="+dir)
	tests.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = tests.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces:", err)
		return 1
	}
	return tests.ProcessState.ExitCode()
}

// build builds version 0.1.0, and copies the rota under test to a place that every user reaches.
func build(dir, old, present string) error {
	if err := release.BuildAt(context.Background(), release.V010, old); err != nil {
		return err
	}
	from, err := cluster.Program(dir)
	if err != nil || from == present {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(present, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // other users execute it
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// furnish gives the network namespace its addresses, and opens the inbox of the attackers.
func furnish() error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"addr", "add", ownAddress + "/32", "dev", "lo"},
		{"addr", "add", metadataAddress + "/32", "dev", "lo"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return theInbox.open()
}
