package procs

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rota-scheduler/rota/test/files"
)

// TestAProcessThatReplacesItsProgramHasItsMark reads the mark of a program that replaces itself without end. The environment of the
// old program is gone when it is read, and the new program has one by then.
func TestAProcessThatReplacesItsProgramHasItsMark(t *testing.T) {
	script := files.Write(t, filepath.Join(t.TempDir(), "script"), `exec /bin/sh "$0"`)
	cmd := exec.Command("/bin/sh", script)
	want := Mark("life", 1)
	cmd.Env = []string{Env + "=" + want}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var s scanner
	for i := range 2000 {
		if mark, err := s.mark(cmd.Process.Pid); mark != want {
			t.Fatalf("search %d: got the mark %q (%v), want %q", i, mark, err, want)
		}
	}
}
