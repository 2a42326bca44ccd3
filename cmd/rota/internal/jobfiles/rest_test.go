package jobfiles

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

func TestFilesAreReadOnceTheyRest(t *testing.T) {
	touch := func(t testing.TB, path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name    string
		change  func(t testing.TB, path string)
		written bool
		drops   bool
		rests   bool
		after   time.Duration
	}{
		{"nobody writes", nil, false, true, true, restSwapped},
		{"another took its place", func(t testing.TB, path string) { files.Replace(t, path, "x") }, false, true, true, restSwapped},
		{"another took its place, while files are written", func(t testing.TB, path string) { files.Replace(t, path, "x") }, true, false, true, restWritten},
		{"it is written in place", func(t testing.TB, path string) { files.Grow(t, path, 1, 0) }, false, false, true, restWritten},
		{"and lacks a job", func(t testing.TB, path string) { files.Grow(t, path, 1, 0) }, false, true, true, restDeleting},
		{"another came", func(t testing.TB, path string) { touch(t, path+".yaml") }, false, true, true, restDeleting},
		{"it is gone", func(t testing.TB, path string) { os.Remove(path) }, false, true, true, restDeleting},
		{"stalls of less than it takes", func(t testing.TB, path string) { files.Grow(t, path, 3, 900*time.Millisecond) }, false, false, true, 1800*time.Millisecond + restWritten},
		{"stalls of less than it takes to lack a job", func(t testing.TB, path string) { files.Grow(t, path, 2, 2*time.Second) }, false, true, true, 2*time.Second + restDeleting},
		{"nobody stops writing", func(t testing.TB, path string) { files.Grow(t, path, 60, 100*time.Millisecond) }, false, false, false, restWritten + restPatience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "jobs.yaml")
				touch(t, path)
				before := takeSnapshot(dir)
				var writing sync.WaitGroup
				defer writing.Wait()
				if tt.change != nil {
					writing.Go(func() { tt.change(t, path) })
				}
				synctest.Wait()
				began := time.Now()
				got := rest(t.Context(), dir, before, tt.written, func() bool { return tt.drops })
				if took := time.Since(began); got != tt.rests || took < tt.after || took > tt.after+2*restPoll {
					t.Errorf("rest: got %t after %v, want %t after %v", got, took, tt.rests, tt.after)
				}
			})
		})
	}
	t.Run("a replica that stops does not wait", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if rest(ctx, t.TempDir(), nil, true, func() bool { return true }) {
			t.Error("it has rested")
		}
	})
}

// Without an answer of etcd at the start, nobody knows whether the files delete jobs. So they must rest for as long as if they did.
func TestFilesMayDeleteJobsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	c, dir := client(t), t.TempDir()
	files.Replace(t, filepath.Join(dir, "a.yaml"), files.Jobs("1", "a"))
	r, _ := beside(t, c, dir, dataDir(t, "q1"))
	ended, end := context.WithCancel(t.Context())
	end()
	if r.deletes(ended); !r.deletesKnown() {
		t.Error("files delete nothing, although the jobs in force are unknown")
	}
	if r.deletes(t.Context()) || r.deletesKnown() {
		t.Error("files of all jobs delete some")
	}
}
