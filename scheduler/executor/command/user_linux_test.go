package command_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAUserWithTooManyProcesses lets the kernel refuse any further process of the user. This process, as root, can start others.
func TestAUserWithTooManyProcesses(t *testing.T) {
	if m, err := os.ReadFile("/proc/self/uid_map"); err != nil || !strings.HasSuffix(strings.TrimSpace(string(m)), "4294967295") {
		t.Skipf("NOT TESTED: root of a user namespace may not exceed the limit either: %s, %v", m, err)
	}
	e, outputs := as(t, "61234:61234")
	u, err := command.LookupUser("61234:61234")
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000") // the kernel counts the processes that a user has already
	other.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}, Pdeathsig: syscall.SIGKILL,
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &before); err != nil {
		t.Fatal(err)
	}
	restore := func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &before) }
	t.Cleanup(restore)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	o := e.Execute(t.Context(), request(t, shell("true"), io.Discard))
	if want := "start /bin/sh: resource temporarily unavailable, " + job.NotBegun; !o.KindAway || !o.NotBegun || o.Reason != want {
		t.Errorf("got %+v, want an attempt that has not begun, and no other of its kind: %q", o, want)
	}
	if err := e.Check(t.Context()); err == nil {
		t.Error("the worker accepts commands again, while the user has too many processes")
	}
	want := "no program of user 61234:61234 can be started: resource temporarily unavailable"
	if err := u.CheckStart(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := u.Check(); err != nil {
		t.Errorf("a worker that starts meanwhile must not end: %v", err)
	}
	restore()
	if err := e.Check(t.Context()); err != nil {
		t.Errorf("after the shortage: %v", err)
	}
	if o := e.Execute(t.Context(), request(t, shell("true"), io.Discard)); o.State != job.Succeeded {
		t.Errorf("after the shortage: %+v", o)
	}
	leftOutputs(t, outputs)
}
