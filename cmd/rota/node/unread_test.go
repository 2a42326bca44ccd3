package node

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/config"
)

// alone is what reads the job files at path for a replica that has no store.
func alone(t testing.TB, path string) (*files, *logBuffer) {
	log := &logBuffer{}
	n := &Node{set: config.Settings{Node: config.Node{Name: "q1", DataDir: t.TempDir()}}, log: logger(log)}
	n.replica = newPresence(n)
	return &files{node: n, path: path, newer: never}, log
}

// withoutHandles has do open nothing, which no picture of a file shows.
func withoutHandles(t testing.TB, do func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

func TestFilesThatCouldNotBeReadAreReadAgain(t *testing.T) { // not beside others, who open files
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		write(t, path, jobsFile("first", "x"))
		f, log := alone(t, path)
		told := func() int { return strings.Count(log.String(), "cannot be read: too many open files") }
		withoutHandles(t, func() {
			f.load()
			for range 3 {
				if !f.look(t.Context(), false) || f.set != nil {
					t.Errorf("got %v, want that it was tried and failed", f.set)
				}
			}
			if got := told(); got != 1 {
				t.Errorf("told %d times, want once:\n%s", got, log.String())
			}
			if f.look(t.Context(), true); told() != 2 {
				t.Errorf("told %d times after somebody asked, want once more", told())
			}
		})
		if !f.look(t.Context(), false) || f.wrong != nil || f.set == nil {
			t.Fatalf("got %v, want that the files are read, though they look as before", f.wrong)
		}
		if f.edited || f.newer != never {
			t.Error("what was found counts as an edit")
		}
		if f.look(t.Context(), false) {
			t.Error("files that could be read are read again without a reason")
		}
	})
}

func TestFilesThatDoNotRestAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		grow(t, path, 1, 0)
		f, _ := alone(t, path)
		f.load()
		written := make(chan struct{})
		go func() {
			defer close(written)
			grow(t, path, 60, 100*time.Millisecond)
		}()
		f.rests(t.Context(), true) // not look: run is kept busy by those who write
		if note := f.node.replica.wanted().FilesNote; !strings.Contains(note, "change and change") {
			t.Errorf("got note %q, want one that says why the files are not read", note)
		}
		<-written
	})
	t.Run("but not by who is told to stop", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f, _ := alone(t, filepath.Join(t.TempDir(), "jobs.yaml"))
		if rested := f.rests(ctx, true); rested || f.moving || f.node.replica.wanted().FilesNote != "" {
			t.Errorf("rested %t, moving %t, note %q", rested, f.moving, f.node.replica.wanted().FilesNote)
		}
	})
}
