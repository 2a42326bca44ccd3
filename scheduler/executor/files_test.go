package executor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// A file server that is gone holds up few reads of a job, and none of other jobs.
func TestReadsThatHangAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var files executor.Files
		var reads atomic.Int64
		gone := make(chan struct{})
		hang := func() bool { <-gone; return true }
		for range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, ok := executor.ReadFiles(ctx, &files, "backup", func() bool { reads.Add(1); return hang() }); ok {
				t.Error("a read that hangs has a result")
			}
			cancel()
		}
		if n := reads.Load(); n != 4 {
			t.Errorf("%d reads were left behind, want 4", n)
		}
		if got, ok := executor.ReadFiles(t.Context(), &files, "other", func() int { return 7 }); !ok || got != 7 {
			t.Errorf("another job reads %d, %v", got, ok)
		}
		close(gone)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		synctest.Wait()
		if _, ok := executor.ReadFiles(t.Context(), &files, "backup", hang); !ok {
			t.Error("the job reads nothing after the return of the file server")
		}
		if _, ok := executor.ReadFiles(ended, &files, "backup", func() bool { time.Sleep(time.Second); return true }); ok {
			t.Error("a read outlives its context")
		}
		time.Sleep(2 * time.Second)
	})
}
