package procs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/test/files"
)

// TestAProcessWhoseEnvironmentCannotBeRead has a pipe in the place of the environment of a process. The kernel holds up the readers
// of that file in the same way, while the process waits in mmap for a file server that is gone.
func TestAProcessWhoseEnvironmentCannotBeRead(t *testing.T) {
	dir, usual, limit := t.TempDir(), procDir, readLimit
	own, err := os.ReadFile(file(os.Getpid(), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	const older, later = 101, 102
	for pid, began := range map[int]int{older: 1, later: 1 << 60} {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(pid)), 0o700); err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(own[bytes.LastIndexByte(own, ')')+1:]))
		fields[19] = strconv.Itoa(began)
		fields[statEnvEnd] = fields[statEnvStart] // as the pipe, it has no environment
		stat := fmt.Sprintf("%d (a) b) %s\n", pid, strings.Join(fields, " "))
		files.Write(t, filepath.Join(dir, strconv.Itoa(pid), "stat"), stat)
	}
	hang := func(pid int) (release func()) {
		pipe := filepath.Join(dir, strconv.Itoa(pid), "environ")
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		return func() {
			f, err := os.OpenFile(pipe, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
			for hangs := true; hangs; _, hangs = hanging.Load(pid) {
				<-time.After(time.Millisecond) // nothing reports that the read has returned
			}
		}
	}
	procDir, readLimit = dir, 50*time.Millisecond
	defer func() { procDir, readLimit = usual, limit }()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), Env + "=" + Mark("life", 1)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for _, of := range []int{pid, os.Getpid()} {
		if err := os.Symlink(filepath.Join(usual, strconv.Itoa(of)), filepath.Join(dir, strconv.Itoa(of))); err != nil {
			t.Fatal(err)
		}
	}
	defer hang(older)()

	ended := make(chan error, 1)
	go func() { ended <- new(Sweeper).Kill(Mark("life", 1)) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("a process that is older than the worker matters: %v", err)
		}
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		t.Fatal("the end of an attempt waits for a process that it does not know")
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process of the attempt ended with %v", err)
	}
	if err := KillMarked("life"); err == nil || !strings.Contains(err.Error(), "[101]") {
		t.Errorf("a process that may be of an earlier life: %v", err)
	}
	defer hang(later)()
	if err := new(Sweeper).Kill(Mark("life", 1)); err == nil || !strings.Contains(err.Error(), "[102]") {
		t.Errorf("a process that may be of the attempt: %v", err)
	}
}
