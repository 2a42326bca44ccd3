package jobfiles

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

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
		f := alone(path, dataDir(t, "q1"))
		told := func() int { return strings.Count(f.log.String(), "cannot be read: too many open files") }
		withoutHandles(t, func() {
			f.load()
			for range 3 {
				if !f.poll(t.Context(), false) || f.set != nil {
					t.Errorf("got %v, want that it was tried and failed", f.set)
				}
			}
			if got := told(); got != 1 {
				t.Errorf("told %d times, want once:\n%s", got, f.log.String())
			}
			if f.poll(t.Context(), true); told() != 2 {
				t.Errorf("told %d times after somebody asked, want once more", told())
			}
		})
		if !f.poll(t.Context(), false) || f.mistakes != nil || f.set == nil {
			t.Fatalf("got %v, want that the files are read, though they look as before", f.mistakes)
		}
		if f.edited || f.newer != never {
			t.Error("what was found counts as an edit")
		}
		if f.poll(t.Context(), false) {
			t.Error("files that could be read are read again without a reason")
		}
	})
}

func TestFilesThatDoNotRestAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		grow(t, path, 1, 0)
		f := alone(path, dataDir(t, "q1"))
		f.load()
		written := make(chan struct{})
		go func() {
			defer close(written)
			grow(t, path, 60, 100*time.Millisecond)
		}()
		f.settle(t.Context(), true) // not look: run is kept busy by those who write
		if note := f.note; !strings.Contains(note, "change and change") {
			t.Errorf("got note %q, want one that says why the files are not read", note)
		}
		<-written
	})
	t.Run("but not by who is told to stop", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f := alone(filepath.Join(t.TempDir(), "jobs.yaml"), dataDir(t, "q1"))
		if rested := f.settle(ctx, true); rested || f.unstable || f.note != "" {
			t.Errorf("rested %t, moving %t, note %q", rested, f.unstable, f.note)
		}
	})
}
