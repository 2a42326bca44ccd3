package jobfiles

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// aged writes a file as rsync and tar do: its time is that of the source.
func aged(t testing.TB, path, text string) {
	t.Helper()
	files.Replace(t, path, text)
	if at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); os.Chtimes(path, at, at) != nil {
		t.Fatal("the time of the file cannot be set")
	}
}

// A replica starts while its files are copied, and the file of a job has not arrived yet. All files have old times. The job must
// keep its record, with its pause and its runs.
func TestAStartDuringACopyDeletesNothing(t *testing.T) {
	t.Parallel()
	c, dir := client(t), t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	aged(t, a, files.Jobs("1", "a"))
	aged(t, b, files.Jobs("1", "b"))
	first, end := beside(t, c, dir, dataDir(t, "q1"))
	first.enforced(t)
	before, err := first.store.Job(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	end()

	elsewhere := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.Rename(b, elsewhere); err != nil {
		t.Fatal(err)
	}
	r, _ := beside(t, c, dir, dataDir(t, "q2"))
	r.tried = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := r.Run(ctx, r.store, r.mirror, r); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-r.Tried():
	case <-time.After(time.Second): // the copy takes so long
	}
	if err := os.Rename(elsewhere, b); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Tried():
	case <-time.After(30 * time.Second):
		t.Fatal("the files are not in force")
	}
	if after, err := r.store.Job(t.Context(), "b"); err != nil || after.Rev != before.Rev {
		t.Errorf("got revision %d, %v, want %d: the job was deleted", after.Rev, err, before.Rev)
	}
}

// A new version of a file may have the size and the time of the old one: some tools give all versions the same time.
func TestAVersionWithTheSameTimeIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.yaml")
	aged(t, path, files.Jobs("1", "a"))
	before := takeSnapshot(path)
	if !before.same(takeSnapshot(path)) {
		t.Error("a file differs from itself")
	}
	aged(t, path, files.Jobs("2", "a"))
	if before.same(takeSnapshot(path)) {
		t.Error("the new version is not noticed")
	}
}
