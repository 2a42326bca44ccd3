package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hardenedChild is the name of an environment variable. If it is set, the test binary runs as a process that executes jobs.
const hardenedChild = "ROTA_TEST_HARDENED_CHILD"

// nobody is a user without rights. The test needs it because root may read everything.
const nobody = 65534

// TestHardenedChild is the child process of TestJobsCannotReadTheProcessThatRunsThem.
func TestHardenedChild(t *testing.T) {
	if os.Getenv(hardenedChild) == "" {
		t.Skip("this test is the child process of another test")
	}
	if os.Getuid() == 0 {
		if err := syscall.Setreuid(nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // the state of a process that this user started
	if err := errors.Join(err, harden()); err != nil {
		t.Fatal(err)
	}
	job := exec.CommandContext(t.Context(), "/bin/sh", "-c", `tr '\0' '\n' </proc/$PPID/environ 2>&1; ls /proc/$$/fd`)
	job.Stdout, job.Stderr, job.Env = os.Stdout, os.Stdout, []string{"PATH=" + os.Getenv("PATH")}
	if err := job.Run(); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // exit without cleanup, which this user has no right to do; the parent process cleans up
}

func TestJobsCannotReadTheProcessThatRunsThem(t *testing.T) {
	open, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHardenedChild$")
	cmd.Env = append(os.Environ(), hardenedChild+"=1", "TMPDIR="+t.TempDir(), "DB_PASSWORD=hunter2")
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, open} // the last is descriptor 7
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "hunter2") {
		t.Errorf("a job reads the variables of the process that runs it:\n%s", out)
	}
	if slices.Contains(strings.Fields(string(out)), "7") {
		t.Errorf("a job has an inherited descriptor:\n%s", out)
	}
	if !strings.Contains(string(out), "denied") {
		t.Errorf("the kernel did not refuse the job:\n%s", out)
	}
}
