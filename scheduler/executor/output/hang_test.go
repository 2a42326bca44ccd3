package output

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// refusing is a store that refuses one object.
type refusing struct {
	Store
	name string
}

func (r refusing) Put(ctx context.Context, name string, in *os.File, before fs.FileInfo) error {
	if strings.Contains(name, r.name) {
		return errors.New("refused")
	}
	return r.Store.Put(ctx, name, in, before)
}

// A file that cannot be uploaded holds up no others, and stays reported.
func TestAFileThatIsRefusedHoldsUpNoOthers(t *testing.T) {
	from, to := t.TempDir(), NewDirectory(t.TempDir())
	put(t, from, "a/bad", "text")
	put(t, from, "a/good", "text")
	u, report, _ := uploads(t, from, refusing{to, "bad"})
	await(t, "the good one is uploaded", func() bool {
		n, err := report()
		return stored(t, to, "a/good") == "text" && n == 1 && err != nil
	})
	u.Add("a/bad", 1)
	if _, waiting := u.first(); waiting > 2 {
		t.Errorf("%d files wait", waiting)
	}
}

// stalling is a store that stops answering in the middle of the first sweep.
type stalling struct {
	Store
	sweeps *atomic.Int64
	again  chan struct{} // closed by the second sweep
}

func (s stalling) Sweep(ctx context.Context, _ time.Duration, _ time.Time) error {
	switch s.sweeps.Add(1) {
	case 1:
		<-ctx.Done()
	case 2:
		close(s.again)
	}
	return ctx.Err()
}

func TestASweepThatStallsIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := make(chan struct{})
		uploads(t, t.TempDir(), stalling{NewDirectory(t.TempDir()), new(atomic.Int64), again})
		select {
		case <-again:
		case <-time.After(3 * keepEvery):
			t.Error("the first sweep stalls, and no other one follows")
		}
	})
}

// A file server that hangs occupies a bounded number of threads. A file that it opens late is closed. A FIFO stands for it: its open
// waits for a writer.
func TestAFileServerThatHangsOccupiesFewThreads(t *testing.T) {
	t.Parallel()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close the files
	dir := t.TempDir()
	put(t, dir, "a/x", "text")
	file := path(dir, "a/x", 1)
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	store := NewDirectory(dir)
	const readers = 3 * maxOpens
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			if _, err := store.Open(t.Context(), "a/x", 1); !errors.Is(err, ErrNoAnswer) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if n := len(store.opens); n != maxOpens {
		t.Errorf("%d calls are under way, want %d", n, maxOpens)
	}
	answering, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer answering.Close()
	await(t, "all late files are closed", func() bool { return len(store.opens) == 0 && openFiles(t, file) == 1 })
}

// openFiles returns how often this process has a file open.
func openFiles(t *testing.T, file string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(all) == 0 {
		t.Skip("no /proc")
	}
	for _, fd := range all {
		if to, _ := os.Readlink(fd); to == file {
			n++
		}
	}
	return n
}
