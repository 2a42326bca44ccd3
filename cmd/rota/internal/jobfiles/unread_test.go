package jobfiles

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/test/fewfiles"
	"github.com/rota-scheduler/rota/test/files"
)

// TestUnreadableFilesAreReadAgain reads the files while the process cannot open files, which a snapshot of them does not show.
func TestUnreadableFilesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Replace(t, path, files.Jobs("first", "x"))
		f := alone(path, dataDir(t, "q1"))
		logged := func() int { return strings.Count(f.log.String(), "cannot be read: too many open files") }
		restore := fewfiles.Begin(t)
		f.load()
		for range 3 {
			if !f.poll(t.Context(), false) || f.set != nil {
				t.Errorf("got %v, want that it was tried and failed", f.set)
			}
		}
		if got := logged(); got != 1 {
			t.Errorf("logged %d times, want once:\n%s", got, f.log.String())
		}
		if f.poll(t.Context(), true); logged() != 2 {
			t.Errorf("logged %d times after a reload, want once more", logged())
		}
		restore()
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

func TestUnstableFilesAreReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Grow(t, path, 1, 0)
		f := alone(path, dataDir(t, "q1"))
		f.load()
		written := make(chan struct{})
		go func() {
			defer close(written)
			files.Grow(t, path, 60, 100*time.Millisecond)
		}()
		f.settle(t.Context(), true) // settle and not poll, because further writes keep Run busy
		if note := f.note; !strings.Contains(note, "keep changing") {
			t.Errorf("got note %q, want one that says why the files are not read", note)
		}
		<-written
	})
	t.Run("but not by a replica that stops", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f := alone(filepath.Join(t.TempDir(), "jobs.yaml"), dataDir(t, "q1"))
		if rested := f.settle(ctx, true); rested || f.unstable || f.note != "" {
			t.Errorf("rested %t, moving %t, note %q", rested, f.unstable, f.note)
		}
	})
}
