package worker

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/procs"
)

// leftBehind starts a shell and its child with a mark, like processes of a worker that was killed together with its
// nanny.
func leftBehind(t *testing.T, mark string) (pgid int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & echo began; wait")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), procs.Env + "=" + mark}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("shell says %q, %v", line, err)
	}
	return cmd.Process.Pid
}

func TestAWorkerKillsProcessesOfEarlierLivesBeforeItOpensASession(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("marks are not to be found here")
	}
	like := newRig(t, lasting(time.Second)) // never started; the test uses its store and its directory
	live := func(opening func(w *Worker)) (mark string) {
		journal := openJournal(t, filepath.Join(like.cfg.DataDir, "journal.db"))
		opened := make(chan struct{})
		sessions := &fakeSessions{}
		w := New(like.cfg, like.store, sessions, like.exec, journal, hclog.NewNullLogger())
		sessions.opening = func() { opening(w); close(opened) }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }() // the test waits for it
		<-opened
		mark = w.mark()
		stop()
		if err := errors.Join(<-ended, journal.Close()); err != nil {
			t.Error(err)
		}
		return mark
	}
	nothing := func(*Worker) {}
	firstMark, lastMark := live(nothing), live(nothing)
	old, last := leftBehind(t, firstMark), leftBehind(t, lastMark)
	others := leftBehind(t, "another-worker.1")
	live(func(w *Worker) {
		if procs.Alive(last) {
			t.Error("a session is opened while processes of the last life are alive")
		}
		if !procs.Alive(old) || !procs.Alive(others) {
			t.Error("processes of a life that is not in the journal were killed")
		}
		if lives, err := w.journal.lives(); err != nil || len(lives) != 1 || lives[0] != w.life {
			t.Errorf("the journal knows of lives %v, %v, want %s", lives, err, w.life)
		}
	})
}

// TestNoRunBeginsBeforeTheLifeIsRecorded starts a worker on a full disk. Operators often kill a worker in this state.
func TestNoRunBeginsBeforeTheLifeIsRecorded(t *testing.T) {
	like := newRig(t, lasting(time.Second)) // never started
	path := filepath.Join(like.cfg.DataDir, "journal.db")
	if err := openJournal(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	full, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	w := New(like.cfg, like.store, like.sessions, like.exec, &Journal{db: full}, hclog.NewNullLogger())
	w.beginLife()
	w.checkDisk(t.Context())
	if w.Refuses() == nil {
		t.Error("the worker accepts runs while the journal cannot be written to")
	}
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	w.journal = openJournal(t, path)
	w.checkDisk(t.Context())
	if lives, err := w.journal.lives(); w.Refuses() != nil || err != nil || !slices.Equal(lives, []string{w.life}) {
		t.Errorf("with room on the disk: got %v, and lives %v, %v, want %s", w.Refuses(), lives, err, w.life)
	}
}
